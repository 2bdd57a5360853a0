/** The one entry of Windlass: picks the role and loads only that role's code. */
const [role, ...rest] = process.argv.slice(2);

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `windlass needs Node.js 24 or newer, this is ${process.version}. In a checkout run "npm ci" first: it brings its own.\n`,
  );
  process.exit(78);
}

switch (role) {
  case "server":
    await (await import("./control-plane/main.ts")).main(rest);
    break;
  case "agent":
    await (await import("./agent/main.ts")).main(rest);
    break;
  default:
    await (await import("./cli/main.ts")).main(process.argv.slice(2));
}
