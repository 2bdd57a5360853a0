/** Summarises a plan from `show -json`: names, actions, reasons and changed attributes. */
import { planListLimit, planListsLimit, planTextLimit } from "../../../protocol/limits.ts";
import type {
  PlanAction,
  PlannedAttribute,
  PlannedChange,
  PlanSummary,
} from "../../../protocol/plan-summary.ts";
import type { Secrecy } from "../../../common/redaction/secrecy.ts";
import { AttributeBudget, attributesOf, pathOf, type Change } from "./attributes.ts";
import { withoutKeys, type Dependencies } from "./dependencies.ts";

export interface ResourceChange {
  readonly address: string;
  readonly mode?: string;
  readonly deposed?: string;
  readonly previous_address?: string;
  readonly action_reason?: string;
  readonly change: Change;
}

export interface Check {
  readonly address?: { readonly kind?: string; readonly to_display?: string };
  readonly status?: string;
}

const namesPerChange = 20;

/** Collects a summary piece by piece, with little memory for a plan of any size. */
export class PlanSummarizer {
  readonly #secrecy: Secrecy;
  readonly #budget = new AttributeBudget();
  #isCut = false;
  #hasChecks = false;
  readonly #counts = { create: 0, update: 0, replace: 0, delete: 0, forget: 0, move: 0, import: 0 };
  /** Separate from the rest, so that shortening cannot hide what is destroyed. */
  readonly #destructive = new Bounded<PlannedChange>();
  readonly #other = new Bounded<PlannedChange>();
  readonly #drift = new Bounded<PlanSummary["drift"][number]>();
  readonly #outputs = new Bounded<PlanSummary["outputs"][number]>();
  readonly #checks = new Bounded<PlanSummary["checks"][number]>();
  /** The resources that will be there and change, without the keys of instances. */
  readonly #changing = new Set<string>();

  /** A configuration can put a secret anywhere, also into a name. */
  constructor(secrecy: Secrecy) {
    this.#secrecy = secrecy;
  }

  /** One entry of `resource_changes`. Reading a data source changes nothing and is left out. */
  resource({ address, mode, previous_address, action_reason, change }: ResourceChange): void {
    const action = actionOf(change.actions);
    const imported = change.importing !== undefined && change.importing !== null;
    if (mode === "data" || action === "read") return;
    if (action === "none" && previous_address === undefined && !imported) return;
    if (action !== "none") this.#counts[action]++;
    if (previous_address !== undefined) this.#counts.move++;
    if (imported) this.#counts.import++;
    const remains = action !== "delete" && action !== "forget";
    if (remains && this.#changing.size < planListLimit && address.length <= planTextLimit)
      this.#changing.add(withoutKeys(address));
    const list = ["delete", "replace"].includes(action) ? this.#destructive : this.#other;
    list.add(() => {
      const replacedBy = (change.replace_paths ?? []).slice(0, namesPerChange).map(pathText);
      const attributes = this.#attributes(action, change);
      return {
        address: this.#text(address),
        action,
        ...(action_reason ? { reason: this.#text(action_reason) } : {}),
        ...(action === "replace" && change.actions[0] === "create" ? { created_first: true } : {}),
        ...(replacedBy.length > 0 ? { replaced_by: replacedBy.map(this.#text) } : {}),
        ...(attributes.length > 0 ? { attributes } : {}),
        ...(previous_address ? { previous_address: this.#text(previous_address) } : {}),
        ...(imported ? { imported } : {}),
      };
    });
  }

  #attributes(action: PlanAction, change: Change): PlannedAttribute[] {
    if (action === "none" || action === "forget") return [];
    return this.#take(change, action === "create" || action === "delete" ? 0.5 : 1);
  }

  #take(change: Change, share: number): PlannedAttribute[] {
    const { kept, isCut } = this.#budget.take(attributesOf(change, this.#secrecy), share);
    this.#isCut ||= isCut;
    return kept;
  }

  /** One entry of `resource_drift`, which comes before the changes and must not hide them. */
  drift({ address, change }: ResourceChange): void {
    const action = actionOf(change.actions);
    this.#drift.add(() => {
      const attributes = action === "update" ? this.#take(change, 0.5) : [];
      return {
        address: this.#text(address),
        action,
        ...(attributes.length > 0 ? { attributes } : {}),
      };
    });
  }

  /** One entry of `output_changes`. */
  output(name: string, change: Change): void {
    const action = actionOf(change.actions);
    if (action === "none") return;
    const isMarked = change.before_sensitive === true || change.after_sensitive === true;
    this.#outputs.add(() => {
      const all = isMarked ? [] : this.#attributes(action, change);
      const attributes = all.filter(({ path, sensitive }) => path !== "" || !sensitive);
      return {
        name: this.#text(name),
        action,
        sensitive: isMarked || all.some(({ sensitive }) => sensitive === true),
        ...(attributes.length > 0 ? { attributes } : {}),
      };
    });
  }

  /** One entry of `checks`. */
  check({ address, status }: Check): void {
    this.#hasChecks ||= address?.kind === "check";
    if (status !== "fail" && status !== "error" && status !== "unknown") return;
    this.#checks.add(() => ({ address: this.#text(address?.to_display ?? "check"), status }));
  }

  /** `applyable` and `complete` as in the plan; OpenTofu and older terraforms lack them. */
  summary(
    said: { applyable?: boolean; complete?: boolean },
    dependencies?: Dependencies,
    more: Pick<PlanSummary, "digest" | "has_unknown" | "has_provisioners" | "local_modules"> = {},
  ): PlanSummary {
    const graph = (dependencies?.needsOf(this.#changing) ?? []).map(({ address, needs }) => ({
      address: this.#text(address),
      needs: needs.map(this.#text),
    }));
    const changes = [...this.#destructive.items, ...this.#other.items].slice(0, planListLimit);
    const all = this.#destructive.seen + this.#other.seen;
    const summary: PlanSummary = {
      counts: this.#counts,
      changes,
      changes_omitted: all - changes.length,
      drift: this.#drift.items,
      drift_omitted: this.#drift.omitted,
      outputs: this.#outputs.items,
      outputs_omitted: this.#outputs.omitted,
      checks: this.#checks.items,
      graph,
      applyable: said.applyable ?? all + this.#outputs.seen > 0,
      complete: said.complete ?? true,
      ...(this.#hasChecks ? { has_checks: true } : {}),
      ...more,
    };
    const short = fitted(summary);
    return this.#isCut || short.changes_omitted > 0 ? { ...short, truncated: true } : short;
  }

  readonly #text = (text: string): string => {
    const safe = this.#secrecy.mask(text);
    return safe.length > planTextLimit ? `${safe.slice(0, planTextLimit - 1)}…` : safe;
  };
}

/** Leaves out the graph, then halves the longest lists, until all but attributes fits. */
function fitted(summary: PlanSummary): PlanSummary {
  const bare = JSON.stringify(summary, (key, value: unknown) =>
    key === "attributes" ? undefined : value,
  );
  if (Buffer.byteLength(bare) <= planListsLimit) return summary;
  const { graph, ...rest } = summary;
  if (graph) return fitted(rest);
  const { changes, drift, outputs, checks } = summary;
  const [a, b, c] = [half(changes), half(drift), half(outputs)];
  return fitted({
    ...summary,
    changes: a,
    changes_omitted: summary.changes_omitted + changes.length - a.length,
    drift: b,
    drift_omitted: summary.drift_omitted + drift.length - b.length,
    outputs: c,
    outputs_omitted: summary.outputs_omitted + outputs.length - c.length,
    checks: half(checks),
  });
}

const half = <T>(items: T[]): T[] => items.slice(0, items.length >> 1);

/** `["create","delete"]` and `["delete","create"]` are both replacements. */
export function actionOf(actions: readonly string[]): PlanAction {
  if (actions.includes("delete") && actions.includes("create")) return "replace";
  if (actions.includes("forget") && actions.includes("create")) return "replace";
  const [only] = actions;
  return only === "create" || only === "update" || only === "delete" || only === "forget"
    ? only
    : only === "read"
      ? "read"
      : "none";
}

const pathText = (path: readonly (string | number)[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : pathOf(text, part)),
    "",
  );

class Bounded<T> {
  readonly items: T[] = [];
  seen = 0;

  add(make: () => T): void {
    this.seen++;
    if (this.items.length < planListLimit) this.items.push(make());
  }

  get omitted(): number {
    return this.seen - this.items.length;
  }
}
