/** Single requests of a test, with the audit entries that each of them has written. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { AuditRow } from "../../../../control-plane/store/audit/audit.ts";
import type { AuditAction, AuditActorKind } from "../../../../protocol/audit.ts";
import { ask, type TestResponse, type Plane } from "../../../helpers/plane/plane.ts";

/** A credential, and how the audit log names its owner. */
export interface Credential {
  readonly kind: AuditActorKind;
  readonly name: string | null;
  readonly headers: Record<string, string>;
}

interface Step {
  /** Replaces the `:names` of the route, in order. */
  readonly ids?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
  readonly type?: string;
  /** The expected status of a refusal; without it the step must succeed. */
  readonly status?: number;
}

const address = "203.0.113.7";
const userAgent = "windlass-test/1";

/** Takes steps at a server that trusts 127.0.0.1 as its proxy. */
export function auditor(plane: Plane) {
  const { sql: queries } = plane.context.store.read;
  const rows = (): Promise<AuditRow[]> =>
    queries.selectFrom("audit_entries").selectAll().orderBy("id").execute();
  /** The routes that have written an entry. */
  const recorded = new Set<string>();

  async function step(
    by: Credential,
    key: string,
    actions: readonly AuditAction[],
    { ids = [], query = "", body, type = "application/json", status }: Step = {},
  ): Promise<{ answer: TestResponse; json: Record<string, unknown>; entries: AuditRow[] }> {
    const [method = "", route = ""] = key.split(" ");
    const names = ids.values();
    const path = route.replace(/:\w+/g, () => names.next().value ?? "");
    const request_id = randomUUID();
    const before = (await rows()).length;
    const answer = await ask(plane, method, path + query, {
      headers: {
        ...by.headers,
        "x-forwarded-for": address,
        "user-agent": userAgent,
        "x-request-id": request_id,
        ...(body === undefined ? {} : { "content-type": type }),
      },
      ...(body === undefined
        ? {}
        : {
            body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
          }),
    });
    const text = answer.body.toString();
    if (status === undefined) expect([key, answer.status < 400, text]).toEqual([key, true, text]);
    else expect([key, answer.status]).toEqual([key, status]);
    const entries = (await rows()).slice(before);
    expect([key, ...entries.map(({ action }) => action)]).toEqual([key, ...actions]);
    for (const entry of entries)
      expect(entry).toMatchObject({
        request_id,
        ip_address: address,
        user_agent: userAgent,
        actor_kind: by.kind,
        actor_name: by.name,
      });
    if (entries.length > 0) recorded.add(key);
    const isJson = String(answer.headers["content-type"]).includes("json");
    return { answer, json: isJson && text ? answer.json() : {}, entries };
  }

  const owner = async (email: string): Promise<string> =>
    (
      await queries
        .selectFrom("users")
        .select("id")
        .where("email", "=", email)
        .executeTakeFirstOrThrow()
    ).id;
  return { plane, step, rows, owner, recorded };
}
export type Auditor = ReturnType<typeof auditor>;
