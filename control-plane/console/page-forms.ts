/** A form's endpoint gives its permission and input schema. A refused form is shown again. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Body, Endpoint } from "../../protocol/endpoint.ts";
import { endpoints, type EndpointName, type Endpoints } from "../../protocol/endpoints.ts";
import type { Permission } from "../../protocol/roles.ts";
import { formValidatorOf } from "../domain/validator-of.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Needs } from "./page-permissions.ts";
import { Form, newForm, refuseStale, type FormsOf } from "./page/form.ts";
import { inTeam, teamOf } from "./page/in-space.ts";
import type { Page } from "./page/layout.ts";

/** A page to show, or the address of the page to go to. */
type Outcome = Page | string;

/** Nothing is returned by a handler that has sent its response itself. */
type PageHandler = (
  caller: UserCaller,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Outcome | void>;

export type AddRoute = (
  url: string,
  needs: Needs,
  handler: PageHandler,
  options?: { readonly bodyLimit?: number; readonly permission?: Permission | undefined },
) => void;

export interface PageWithForms<T> {
  /** Finds what the address names; a list names nothing. */
  readonly find?: (caller: UserCaller, params: unknown) => Promise<T>;
  readonly draw: (
    thing: T,
    visit: {
      readonly caller: UserCaller;
      readonly request: FastifyRequest;
      readonly forms: FormsOf;
    },
  ) => Promise<Outcome>;
}

interface Submitted<T, Input> {
  readonly caller: UserCaller;
  readonly thing: T;
  readonly form: Form;
  readonly params: unknown;
  readonly input: Input;
}

/** A form. `Now`: what it changes, as the service finds it while it changes it. */
interface PageForm<T, Now, Input> {
  /** Where it is sent to, below the address of the page. */
  readonly path?: string;
  /** Where it needs another permission than its endpoint. */
  readonly needs?: Permission;
  /** What was drawn into the form with `markOf`: `input` throws if it has changed since. */
  readonly seen?: (now: Now) => unknown;
  /** The body of the endpoint; its schema checks it. */
  readonly input?: (form: Form, now: Now) => unknown;
  /** The fields to show again after a refusal. Default: all. */
  readonly again?: (form: Form, thing: T) => Form["fields"];
  readonly submit: (sent: Submitted<T, (now?: Now) => Input>) => Promise<Outcome>;
  readonly bodyLimit?: number;
}

type Input<N extends EndpointName> = Body<Endpoints[N]>;

/** Adds a form to a page: its name there, and the endpoint that it stands for. */
export interface PageForms<T> {
  form<N extends EndpointName, Now = T>(
    name: string,
    does: N,
    form: PageForm<T, Now, Input<N>>,
  ): PageForms<T>;
}

const findNothing = (): Promise<never> => Promise.resolve(undefined as never);

/** Adds a page; the result adds its forms. */
export function pageWithForms<T>(
  get: AddRoute,
  post: AddRoute,
  url: string,
  needs: Needs,
  { find = findNothing, draw }: PageWithForms<T>,
): PageForms<T> {
  get(url, needs, async (caller, request) =>
    draw(await find(caller, request.params), { caller, request, forms: newForm }),
  );
  const forms: PageForms<T> = {
    form: <N extends EndpointName, Now>(
      name: string,
      does: N,
      { path = "", needs, seen, input, again, submit, ...options }: PageForm<T, Now, Input<N>>,
    ) => {
      const { body: schema }: Endpoint = endpoints[does];
      const validate = schema && formValidatorOf(schema);
      const submitted: PageHandler = async (caller, request) => {
        const params = request.params as Record<string, string>;
        const thing = await find(caller, params);
        const form = new Form(request.body);
        const inputFrom = (now = thing as unknown as Now): Input<N> => {
          if (seen) refuseStale(form, seen(now));
          return validate?.(input?.(form, now)) as Input<N>;
        };
        try {
          return await submit({ caller, thing, form, params, input: inputFrom });
        } catch (error) {
          if (!(error instanceof RefusalError)) throw error;
          const refused = new Form(again ? again(form, thing) : form.fields, error, name);
          const drawn = await draw(thing, {
            caller,
            request,
            forms: (other, fields) => (other === name ? refused : newForm(other, fields)),
          });
          if (typeof drawn === "string") return drawn;
          const from = url.replaceAll(/:(\w+)/g, (_, part: string) => params[part] ?? "");
          return { ...drawn, from: inTeam(from, teamOf(caller)), status: refused.status };
        }
      };
      post(`${url}${path}`, does, submitted, { ...options, permission: needs });
      return forms;
    },
  };
  return forms;
}
