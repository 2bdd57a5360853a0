/** The snapshot of a job that plans what is deployed, and not what its configuration is now. */
import type { ConfigSnapshot, Source } from "../../protocol/configurations.ts";

/** A DEPLOY that succeeded, with its values opened. */
export interface Deployment {
  readonly id: string;
  readonly snapshot: ConfigSnapshot;
  /** Of a source in git; null if its runner has not reported it. */
  readonly commit: string | null;
}

const isSensitive = (entry: unknown): boolean =>
  (entry as { sensitive?: boolean } | null | undefined)?.sensitive === true;

/** Values as they were deployed; sensitive ones as they are now, because they may be renewed keys. */
function mergedValues<T>(
  then: Readonly<Record<string, T>> | undefined,
  now: Readonly<Record<string, T>> = {},
): Record<string, T> | undefined {
  if (!then) return undefined;
  const kept = Object.entries(then).map(([name, value]): [string, T] => {
    const current = Object.hasOwn(now, name) ? now[name] : undefined;
    const isNow = current !== undefined && (isSensitive(value) || isSensitive(current));
    return [name, isNow ? current : value];
  });
  return Object.fromEntries(kept);
}

/** What decides about resources is that of the deployment; how a job runs, and its keys, are as now. */
export function asDeployed(now: ConfigSnapshot, deployment: Deployment): ConfigSnapshot {
  const { engine, engine_version, working_directory, var_files, submodules, backend, ...then } =
    deployment.snapshot;
  const { name, project_name, environment, parallelism, timeout_seconds } = now;
  const variables = mergedValues(then.variables, now.variables);
  const backend_config = mergedValues(then.backend_config, now.backend_config);
  return {
    ...defined({ name, project_name, environment, parallelism, timeout_seconds }),
    ...defined({ engine, engine_version, working_directory, var_files, submodules, backend }),
    ...defined({ variables, backend_config }),
    source: sourceOf(deployment),
  };
}

function sourceOf({ snapshot: { source }, commit }: Deployment): Source {
  return source.type === "git" && commit !== null ? { ...source, ref: commit } : source;
}

const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
