/**
 * A replacement for docker that accepts the agent's arguments and implements user and mounts with
 * bubblewrap.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const script = `#!/usr/bin/env bash
[ "$1" = run ] || exit 0
shift
args=(--bind / / --dev-bind /dev /dev --proc /proc --tmpfs /tmp)
while :; do
  case $1 in
    --mount)
      IFS=, read -r _ from to how <<< "$2"
      [ "$how" = readonly ] && kind=--ro-bind || kind=--bind
      args+=("$kind" "\${from#source=}" "\${to#target=}"); shift 2 ;;
    --user) user=\${2%%:*}; shift 2 ;;
    --workdir) args+=(--chdir "$2"); shift 2 ;;
    --entrypoint) entry=$2; shift 3; break ;;
    --name|--label|--network|--cap-drop|--security-opt|--tmpfs|--env|--userns) shift 2 ;;
    *) shift ;;
  esac
done
become=()
[ "$(id -u)" != 0 ] || become=(setpriv "--reuid=$user" "--regid=$user" --clear-groups --no-new-privs)
exec "\${become[@]}" bwrap "\${args[@]}" -- "$entry" "$@"
`;

/**
 * Writes the script into a new directory and returns the directory, for the front of the agent's
 * PATH.
 */
export function containerStandIn(folder: string): string {
  const bin = join(folder, "container-bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "docker"), script, { mode: 0o755 });
  return bin;
}
