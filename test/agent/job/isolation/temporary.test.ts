/** The directory for a job's temporary files, whose path is short enough for Unix sockets. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  checkTemporary,
  closeTemporary,
  openTemporary,
} from "../../../../agent/job/isolation/temporary.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

const place = folderForFile();

test.each([1, 39, 120])(
  "openTemporary returns a path for a socket when the work directory is %d bytes longer",
  async (length) => {
    const workspace = newWorkspace(join(place, "w".repeat(length)));
    const temporary = openTemporary(workspace);
    expect(openTemporary(workspace)).toBe(temporary);
    const server = createServer().listen(join(temporary, "plugin1234567890"));
    await once(server, "listening");
    // The files are in the workspace, so they are removed with it and count for its disk.
    expect(readdirSync(workspace.temporary)).toEqual(["plugin1234567890"]);
    server.close();
    await once(server, "close");
    closeTemporary(workspace);
    if (length > 1) expect(() => statSync(dirname(temporary))).toThrow(/ENOENT/);
  },
);

test("closeTemporary removes the directory once and no file outside it", () => {
  const workspace = newWorkspace(join(place, "w".repeat(120)));
  openTemporary(workspace);
  const outside = join(place, "outside");
  writeFileSync(outside, "kept");
  closeTemporary(workspace);
  closeTemporary(workspace);
  expect(readFileSync(outside, "utf8")).toBe("kept");
});

test("checkTemporary accepts a long work directory", () => {
  expect(() => checkTemporary(join("/", "w".repeat(200)))).not.toThrow();
});
