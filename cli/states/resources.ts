/** Reads the resources of a terraform state (format 4). */

export interface StateDocument {
  readonly version?: number;
  readonly resources?: readonly StateResource[];
}

interface StateResource {
  readonly module?: string;
  readonly mode: string;
  readonly type: string;
  readonly name: string;
  readonly instances: readonly StateInstance[];
}

interface StateInstance {
  readonly index_key?: string | number;
  readonly deposed?: string;
  readonly attributes?: Readonly<Record<string, unknown>> | null;
  /** Paths into `attributes`. */
  readonly sensitive_attributes?: readonly (readonly PathStep[])[];
}

interface PathStep {
  readonly value: unknown;
}

interface AddressedInstance {
  readonly address: string;
  readonly instance: StateInstance;
}

/** Returns every instance with its address, as `terraform state list` prints it. */
export function instancesOf({ resources = [] }: StateDocument): AddressedInstance[] {
  return resources.flatMap(({ module, mode, type, name, instances }) => {
    const base = [module, mode === "data" ? "data" : undefined, type, name];
    const path = base.filter((part) => part !== undefined && part !== "").join(".");
    return instances
      .filter(({ deposed }) => deposed === undefined)
      .map((instance) => ({ address: path + indexOf(instance.index_key), instance }));
  });
}

function indexOf(key: string | number | undefined): string {
  if (key === undefined) return "";
  return `[${typeof key === "number" ? key : JSON.stringify(key)}]`;
}

const hidden = "(sensitive)";

/** Returns the attributes, with `(sensitive)` in place of each marked value. */
export function shownAttributes({
  attributes,
  sensitive_attributes = [],
}: StateInstance): Record<string, unknown> {
  const shown = structuredClone(attributes ?? {}) as Record<string, unknown>;
  for (const path of sensitive_attributes) hide(shown, path);
  return shown;
}

function hide(value: Record<string, unknown>, [step, ...rest]: readonly PathStep[]): void {
  const key = keyOf(step?.value);
  const inner = value[key];
  if (inner === undefined || inner === null) return;
  if (rest.length > 0 && typeof inner === "object")
    return hide(inner as Record<string, unknown>, rest);
  value[key] = hidden;
}

/** An attribute's name, or the `{value, type}` of an index. */
function keyOf(step: unknown): string {
  const key = typeof step === "object" && step !== null && "value" in step ? step.value : step;
  return String(key);
}
