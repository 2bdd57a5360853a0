/** The entry of Windlass: selects the role and loads only its code. */
const words = process.argv.slice(2);
const asksHelp = words[0] === "help" && (words[1] === "server" || words[1] === "agent");
const [role, ...rest] = asksHelp ? [...words.slice(1), "--help"] : words;

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `windlass needs Node.js 24 or newer, not ${process.version}. In a checkout, run "npm ci" first, which installs it.\n`,
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
    await (await import("./cli/main.ts")).main(words);
}
