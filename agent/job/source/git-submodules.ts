/** Lists the submodules of a repository that is checked out: path, commit and address. */
import { mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { StepFailedError } from "../context.ts";
import { gitIn, type GitPlace } from "./git-run.ts";

export interface Submodule {
  readonly name: string;
  /** An empty directory in the source. */
  readonly folder: string;
  readonly url: string;
  readonly commit: string;
}

/** Each named one costs a run of git, also if the commit does not have it. */
const namedLimit = 1000;

/** Only `path` and `url` of `.gitmodules` are used; git gets no other setting of it. */
export async function submodulesOf(
  folder: string,
  url: string,
  place: GitPlace,
): Promise<Submodule[]> {
  const git = await gitIn(folder, url, place);
  if ((await git("ls-tree", "HEAD", "--", ".gitmodules")) === "") return [];
  const list = await git("config", "--blob", "HEAD:.gitmodules", "-z", "--list");
  const settings = new Map<string, { path?: string; url?: string }>();
  for (const entry of list.split("\0")) {
    const [key, value] = splitAt(entry, entry.indexOf("\n"));
    const [, name = "", what = ""] = /^submodule\.(.+)\.(path|url)$/s.exec(key) ?? [];
    if (what !== "") settings.set(name, { ...settings.get(name), [what]: value });
  }
  if (settings.size > namedLimit)
    throw new StepFailedError(`source: .gitmodules names more than ${namedLimit} submodules`);
  const found: Submodule[] = [];
  for (const [name, { path, url: address }] of settings) {
    if (path === undefined || address === undefined) continue;
    const entry = await git("ls-tree", "-z", "HEAD", "--", `:(literal)${path}`);
    const [, commit] = /^160000 commit ([0-9a-f]{40,64})\t/.exec(entry) ?? [];
    // Named, but not part of this commit.
    if (commit === undefined) continue;
    found.push({ name, commit, folder: emptyFolder(folder, path), url: absolute(address, url) });
  }
  return found;
}

const splitAt = (text: string, index: number): [string, string] =>
  index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];

/** Git has made the directory at the checkout, or has refused the path. */
function emptyFolder(root: string, path: string): string {
  const folder = join(realpathSync(root), path);
  mkdirSync(folder, { recursive: true });
  if (realpathSync(folder) === folder && readdirSync(folder).length === 0) return folder;
  throw new StepFailedError(`source: the submodule at ${path} has no empty directory of its own`);
}

/** `./` and `../` are relative to the repository's own address. */
function absolute(address: string, base: string): string {
  if (!/^\.\.?\//.test(address)) return address;
  const [, head = "", start = ""] = /^([a-z+]+:\/\/[^/]*\/|[^/:]+@[^/:]+:)(.*)$/s.exec(base) ?? [];
  const parts = start.split("/").filter(Boolean);
  for (const part of address.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined)
      throw new StepFailedError(
        `source: the address ${address} of a submodule leads out of its host`,
      );
  }
  return head + parts.join("/");
}
