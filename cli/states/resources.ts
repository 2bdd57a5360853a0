/** Reads the resources of a terraform state (format 4). */
import { hidden, isDynamic } from "./hcl.ts";

export interface StateDocument {
  readonly version?: number;
  /** In place of `version`, if OpenTofu has encrypted it. */
  readonly encryption_version?: string;
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

/** Whether the document lists its resources. */
export const isReadable = ({ version, encryption_version }: StateDocument): boolean =>
  version === 4 && encryption_version === undefined;

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

/** A hidden text of at least this length is also hidden where it is a part of another text. */
const shortestPart = 6;

/**
 * With `(sensitive)` for each marked value, and for the same text anywhere in the resource:
 * providers copy them to attributes that terraform does not mark.
 */
export function shownAttributes({
  attributes,
  sensitive_attributes = [],
}: StateInstance): Record<string, unknown> {
  const shown = structuredClone(attributes ?? {}) as Record<string, unknown>;
  const secrets = new Set<string>();
  for (const path of sensitive_attributes) hide(shown, path, secrets);
  const parts = [...secrets].filter((secret) => secret.length >= shortestPart);
  const isSecret = (text: string) => secrets.has(text) || parts.some((part) => text.includes(part));
  return withoutSecrets(shown, isSecret) as Record<string, unknown>;
}

/** Hides the value at the end of a path; all that the path was followed to if it leads no further. */
function hide(
  container: Record<string, unknown>,
  [step, ...rest]: readonly PathStep[],
  secrets: Set<string>,
): void {
  const key = keyOf(step?.value);
  const inner = container[key];
  if (inner === undefined || inner === null) return;
  const next = rest[0] && containerOf(inner, keyOf(rest[0].value));
  if (next) return hide(next, rest, secrets);
  for (const text of textsIn(inner)) secrets.add(text);
  container[key] = hidden;
}

/** Returns what has the key: the value itself, or the `value` of an attribute of dynamic type. */
function containerOf(value: unknown, key: string): Record<string, unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const container = value as Record<string, unknown>;
  if (Object.hasOwn(container, key)) return container;
  return isDynamic(value) ? containerOf(value.value, key) : undefined;
}

/** The texts of a value; the type beside a value of dynamic type is none. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string" && value !== "") yield value;
  if (typeof value !== "object" || value === null) return;
  for (const inner of isDynamic(value) ? [value.value] : Object.values(value))
    yield* textsIn(inner);
}

function withoutSecrets(value: unknown, isSecret: (text: string) => boolean): unknown {
  if (typeof value === "string") return isSecret(value) ? hidden : value;
  if (Array.isArray(value)) return value.map((inner) => withoutSecrets(inner, isSecret));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner, isSecret)]),
  );
}

/** An attribute's name, or the `{value, type}` of an index. */
function keyOf(step: unknown): string {
  const key = typeof step === "object" && step !== null && "value" in step ? step.value : step;
  return String(key);
}
