/** `windlass configurations` against a real server. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { fixtureFiles, writeFiles } from "../../helpers/agent/fixtures.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { openTerminal } from "../../helpers/machine/terminal.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

const { plane } = planeForFile();

describe.concurrent("windlass configurations", () => {
  test("create --dir packs a directory that a runner can plan, and lists the files it left out", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const directory = writeFiles(join(ada.path, "network"), {
      ...fixtureFiles("success-cluster"),
      ".terraform/providers/huge": "x",
      "terraform.tfstate": "{}",
      ".env": "TOKEN=hunter2",
    });
    const made = await ada.run(
      "configurations",
      "create",
      "--dir",
      directory,
      "--var",
      "cluster_name=dir",
    );
    expect(made).toMatchObject({ exitCode: 0 });
    expect(made.stderr).toMatch(/^Packed \d+ files of /);
    expect(made.stderr).toContain("Left out: .env, .terraform/, terraform.tfstate.");
    expect(made.stderr).toContain("Next: windlass jobs plan network --wait");
    const planned = await ada.run("jobs", "plan", "network", "--wait");
    expect(planned).toMatchObject({ exitCode: 0 });
    expect(planned.stdout).toContain('"dir"');
    const again = await ada.run("configurations", "update", "network", "--dir", directory);
    expect(again.stderr).toContain("the server already has this archive");
    const listed = await ada.run("configurations", "list");
    expect(listed.stdout).toMatch(/^network +zone +NEW +- +archive [\da-f]{12}/m);
  });

  test("create --dir uploads the modules beside the directory too", async () => {
    await using ada = await userMachine(plane);
    writeFiles(join(ada.path, "repository"), {
      "live/app/main.tf": 'module "m" {\n  source = "../../modules/m"\n}\n',
      "live/app/prod.tfvars": "",
      "live/other/secret.tfvars": "",
      ".gitignore": "secret.tfvars\n",
      "modules/m/main.tf": "",
    });
    const directory = join(ada.path, "repository/live/app");
    const file = join(directory, "prod.tfvars");
    const create = ["configurations", "create", "app", "--dir", directory, "--var-file", file];
    const made = await ada.run(...create);
    expect(made).toMatchObject({ exitCode: 0 });
    expect(made.stderr).toContain("uses modules or files outside of it. Uploading");
    // The variables of another root are not proposed.
    expect(made.stderr).toContain("Left out: live/other/secret.tfvars.");
    expect(made.stderr).not.toContain("--var-file");
    expect(await ada.json("configurations", "show", "app")).toMatchObject({
      working_directory: "live/app",
      var_files: ["live/app/prod.tfvars"],
    });
  });

  test("create --dir names the left-out files of variables that terraform would read by itself", async () => {
    await using ada = await userMachine(plane);
    const directory = writeFiles(join(ada.path, "valued"), {
      "main.tf": "",
      ".gitignore": "*.tfvars\n",
      "a.auto.tfvars": "",
      "terraform.tfvars": "",
      "env/terraform.tfvars": "",
    });
    const made = await ada.run("configurations", "create", "--dir", directory);
    expect(String(made.stderr).replaceAll(`${directory}/`, "")).toContain(
      "Terraform on this machine would read terraform.tfvars and a.auto.tfvars by itself; the runner does not get them. To use the same values, pass: --var-file terraform.tfvars --var-file a.auto.tfvars",
    );
  });

  test("create --dir names states that terraform has left, whatever the workspace or the backend", async () => {
    await using ada = await userMachine(plane);
    const noted = async (name: string, files: Record<string, string>): Promise<string> => {
      const directory = writeFiles(join(ada.path, name), { "main.tf": "", ...files });
      const { stderr } = await ada.run("configurations", "create", "--dir", directory);
      return String(stderr).replaceAll(`${directory}/`, "");
    };
    const state = (resources: object[]) => JSON.stringify({ version: 4, resources });
    const record = JSON.stringify({ backend: { type: "s3", config: {} } });
    expect(
      await noted("spaces", {
        "terraform.tfstate.d/eu/terraform.tfstate": state([{}]),
        "terraform.tfstate.d/us/terraform.tfstate": state([{}]),
      }),
    ).toContain(
      "Terraform has left the states of 2 workspaces here, which are not used: a plan would create again what one of them records:\n  terraform.tfstate.d/eu/terraform.tfstate\n  terraform.tfstate.d/us/terraform.tfstate\nTo take over that of this configuration before you deploy, run: windlass state push spaces --file FILE",
    );
    expect(await noted("moved", { ".terraform/terraform.tfstate": record })).toContain(
      `Terraform's last init kept the state in the backend "s3", which the files no longer declare. It is not used`,
    );
    for (const files of [
      { "terraform.tfstate": state([]) },
      { ".terraform/terraform.tfstate": record, "b.tf": 'terraform {\n  backend "s3" {}\n}\n' },
    ])
      expect(await noted(`none ${Object.keys(files).length}`, files)).not.toContain("not used");
  });

  test("update changes only the named fields, and delete removes the configuration", async () => {
    await using ada = await userMachine(plane);
    const file = join(ada.path, "dns.json");
    writeFileSync(
      file,
      JSON.stringify({ name: "dns", labels: ["eu"], variables: { a: { value: 1 } } }),
    );
    const git = ["--git", "https://example.com/dns.git", "--ref", "v1", "--path", "live"];
    const made = await ada.json<Configuration>("configurations", "create", "--file", file, ...git);
    expect(made).toMatchObject({
      name: "dns",
      labels: ["eu"],
      source: { type: "git", url: "https://example.com/dns.git", ref: "v1", path: "live" },
      variables: { a: { value: 1 } },
    });
    // Each option changes its part of the source, also of that in a file.
    const url = "https://example.com/zone.git";
    writeFileSync(file, JSON.stringify({ source: { type: "git", url, ref: "v1", path: "a" } }));
    const ref = ["--file", file, "--ref", "v2"];
    const sourceAfter = async (verb: string, name: string): Promise<unknown> =>
      (await ada.json<Configuration>("configurations", verb, name, ...ref)).source;
    for (const verb of ["create", "update"])
      expect(await sourceAfter(verb, "zone file")).toEqual({
        type: "git",
        url,
        ref: "v2",
        path: "a",
      });
    expect(await sourceAfter("update", "dns")).toMatchObject({ url, ref: "v2" });
    await ada.run("configurations", "update", "dns", ...git);
    await ada.run("configurations", "delete", "zone file", "--yes");
    const moved = ["--git", "https://example.org/dns.git", "--ref", ""];
    const other = await ada.json<Configuration>("configurations", "update", "dns", ...moved);
    expect(other.source).toEqual({
      type: "git",
      url: "https://example.org/dns.git",
      path: "live",
    });
    const list = ["--var", 'b=["x","y"]', "--env", "HELM_DRIVER=eu-west-1", "--rename", "names"];
    const changed = await ada.json<Configuration>("configurations", "update", "dns", ...list);
    expect(changed).toMatchObject({
      name: "names",
      labels: ["eu"],
      variables: { a: { value: 1 }, b: { value: ["x", "y"] } },
      environment: { HELM_DRIVER: "eu-west-1" },
    });
    const unset = ["--unset", "a", "--label", ""];
    const less = await ada.json<Configuration>("configurations", "update", "names", ...unset);
    expect(less.variables).toEqual({ b: { value: ["x", "y"] } });
    expect(less.labels).toEqual([]);
    expect(await ada.run("configurations", "delete", "names")).toMatchObject({ exitCode: 2 });
    expect(await ada.run("configurations", "delete", "names", "--yes")).toMatchObject({
      exitCode: 0,
    });
    expect(await ada.json("configurations", "list")).toEqual([]);
  });

  test("--sensitive reads a value from a pipe or without echo, and never prints it", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "db" });
    const secret = "correct horse battery staple";
    const words = ["configurations", "update", "db", "--sensitive"];
    const piped = await windlass([...words, "password"], {
      env: ada.environment,
      input: `${secret}\n`,
    });
    expect(piped).toMatchObject({ exitCode: 0 });
    expect(String(piped.stdout)).toMatch(/^variables +password = \(sensitive\)$/m);
    await using terminal = openTerminal([...words, "token", "--var", "size=3"], ada.environment);
    await terminal.shows("Value of token: ");
    terminal.type(`${secret}\r`);
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw() + String(piped.stdout) + String(piped.stderr)).not.toContain(secret);
    const { variables } = await ada.json<Configuration>("configurations", "show", "db");
    expect(variables).toEqual({
      password: { sensitive: true },
      token: { sensitive: true },
      size: { value: "3" },
    });
    expect((await ada.run(...words, "other")).stderr).toContain("Pipe in the value of other");
  });

  test("--sensitive-json reads an object, whose texts are masked, and --sensitive keeps JSON as text", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const directory = writeFiles(join(ada.path, "objects"), {
      "main.tf": `variable "db" {
  type = object({ password = string, ports = list(number), hosts = map(string) })
}
variable "key" { type = string }
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "echo '\${var.db.password}+\${var.db.ports[1]}+\${var.db.hosts["main"]}+\${jsondecode(var.key).id}'"
  }
}`,
    });
    const piped = (input: string, ...words: string[]) =>
      windlass(words, { env: ada.environment, input });
    const options = ["--sensitive-json", "db", "--sensitive", "key"];
    const key = '{"id":"of-the-key"}';
    const wrong = await piped(`{"hunter2-abc\n${key}\n`, "up", directory, "--yes", ...options);
    expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
    expect(wrong.stderr).toContain("The value of db is not valid JSON");
    expect(wrong.stderr).not.toContain("hunter2");
    const db = { password: "hunter2-abc", ports: [1, 482913], hosts: { main: "db-7.internal" } };
    const input = `${JSON.stringify(db)}\n${key}\n`;
    const up = await piped(input, "up", directory, "--yes", ...options);
    expect(up).toMatchObject({ exitCode: 0 });
    expect(up.stdout).toContain("(local-exec): ***+***+***+of-the-key");
    expect(up.stdout).not.toMatch(/hunter2-abc|482913|db-7/);
    // A single one may have several lines.
    const again = await piped(
      JSON.stringify({ ...db, ports: [1, 2] }, null, 2),
      "configurations",
      "update",
      "objects",
      "--sensitive-json",
      "db",
      "--json",
    );
    expect(JSON.parse(String(again.stdout))).toMatchObject({
      variables: { db: { sensitive: true }, key: { sensitive: true } },
    });
    expect((await ada.run("up", directory, "--yes")).stdout).toContain("Plan: no changes");
  });

  test("a number that JSON cannot hold is sent as text, which is said", async () => {
    await using ada = await userMachine(plane);
    const directory = writeFiles(join(ada.path, "digits"), { "main.tf": 'variable "a" {}' });
    const file = join(ada.path, "large.tfvars.json");
    writeFileSync(file, '{"b":{"n":12345678901234567890}}');
    const options = ["--var", 'a={"n":9007199254740993,"m":[1]}', "--var-file", file];
    const made = await ada.run(
      "configurations",
      "create",
      "digits",
      "--dir",
      directory,
      ...options,
    );
    expect(made).toMatchObject({ exitCode: 0 });
    for (const what of ["The value of a", `"${file}"`])
      expect(made.stderr).toContain(`${what} contains a number with more digits`);
    expect(await ada.json("configurations", "show", "digits")).toMatchObject({
      variables: {
        a: { value: { n: "9007199254740993", m: [1] } },
        b: { value: { n: "12345678901234567890" } },
      },
    });
    const exact = await ada.run("configurations", "update", "digits", "--var", 'a={"n":42}');
    expect(exact.stderr).not.toContain("digits than");
  });

  test("secrets of every kind are read together, a line each in the order of the options", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const piped = (input: string, ...words: string[]) =>
      windlass(words, { env: ada.environment, input });
    const directory = writeFiles(join(ada.path, "secret"), {
      "main.tf": `variable "pw" {}
variable "token" {}
variable "key" {}
output "seen" { value = sha256("\${var.pw}-\${var.token}-\${var.key}") }`,
    });
    const secrets = ["--sensitive", "pw", "--sensitive-env", "TF_VAR_token", "--sensitive", "key"];
    const typed = await piped("a\n", "up", directory, "--sensitive", "pw=hunter2");
    expect(typed).toMatchObject({ exitCode: 2, stdout: "" });
    expect(typed.stderr).toContain('Name a secret without its value: "pw".');
    expect(typed.stderr).not.toContain("hunter2");
    const short = await piped("a\nb\n", "up", directory, "--yes", ...secrets);
    expect(short).toMatchObject({ exitCode: 2, stdout: "" });
    expect(short.stderr).toContain(
      "Stdin has 2 lines for 3 secrets. Pipe in the value of pw, then of TF_VAR_token, then of key, one per line.",
    );
    expect(await ada.json("configurations", "list")).toEqual([]);
    const create = ["configurations", "create", "--dir", directory, ...secrets];
    const long = await piped("a\nb\nc\nd\n", ...create);
    expect(long).toMatchObject({ exitCode: 2, stdout: "" });
    expect(long.stderr).toContain("A secret of several lines must be the only one of its command.");
    const made = await piped("a\nb\nc\n", ...create, "--json");
    expect(made).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(String(made.stdout))).toMatchObject({
      variables: { pw: { sensitive: true }, key: { sensitive: true } },
      environment: { TF_VAR_token: { sensitive: true } },
    });
    const deployed = await piped("a\nb\nc\n", "up", directory, "--adopt", "--yes", "--json");
    expect(deployed).toMatchObject({ exitCode: 0 });
    const { outputs } = (JSON.parse(String(deployed.stdout)) as Job).execution_metadata ?? {};
    const seen = createHash("sha256").update("a-b-c").digest("hex");
    expect(outputs).toMatchObject({ seen: { value: seen } });
  });

  test("update removes environment variables and backend settings", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({
      name: "prod",
      environment: { A: "1", B: { value: "2", sensitive: true }, C: "3" },
      backend_config: { bucket: "states", region: "eu" },
    });
    const update = ["configurations", "update", "prod"];
    const environment = ["--unset-env", "A", "--unset-env", "B", "--env", "D=4"];
    const settings = ["--unset-backend-config", "region"];
    const less = await ada.json<Configuration>(...update, ...environment, ...settings);
    expect(less.environment).toEqual({ C: "3", D: "4" });
    expect(less.backend_config).toEqual({ bucket: "states" });
    const unknown = await ada.run(...update, "--unset-env", "A");
    expect(unknown.stderr).toContain('There is no environment variable "A" to unset.');
    const setting = await ada.run(...update, "--unset-backend-config", "region");
    expect(setting.stderr).toContain('There is no backend setting "region" to unset.');
    const managed = await ada.run(...update, "--backend", "managed");
    expect(managed).toMatchObject({ exitCode: 1, stdout: "" });
    const remedy = /To remove them: windlass (configurations update prod .*)$/.exec(
      String(managed.stderr),
    );
    expect(remedy?.[1]).toBe(
      "configurations update prod --backend managed --unset-backend-config bucket",
    );
    const moved = await ada.json<Configuration>(...(remedy?.[1] ?? "").split(" "));
    expect(moved).toMatchObject({ backend: "managed" });
    expect(moved.backend_config ?? {}).toEqual({});
  });

  test("- is the configuration created from the current directory, and in jobs its latest job", async () => {
    await using ada = await userMachine(plane);
    const origin = randomUUID();
    const configuration_id = await ada.user.configure({ name: "here", origin });
    await ada.user.configure({ name: "elsewhere" });
    const { id } = await ada.user.queue({ job_type: "PLAN", configuration_id });
    const linked = JSON.stringify({ origin });
    const cwd = writeFiles(join(ada.path, "here"), { ".windlass/link.json": linked });
    const show = (from: string) =>
      windlass(["jobs", "show", "-", "--json"], { cwd: from, env: ada.environment });
    const shown = await show(cwd);
    expect(JSON.parse(shown.stdout as string)).toMatchObject({ id });
    const other = await show(ada.path);
    expect(other).toMatchObject({ exitCode: 2, stdout: "" });
    expect(other.stderr).toContain("this one has none here. Name the configuration: NAME/-");
    const inHere = (...words: string[]) => windlass(words, { cwd, env: ada.environment });
    for (const words of [
      ["configurations", "show", "-"],
      ["configurations", "update", "-", "--label", "eu"],
      ["jobs", "plan", "-"],
      ["jobs", "plan", "-", "--json"],
      ["jobs", "list", "--configuration", "-"],
      ["state", "versions", "-"],
      ["state", "unlock", "-"],
      ["variable-sets", "create", "eu", "--configuration", "-"],
    ]) {
      const { exitCode, stdout, stderr } = await inHere(...words);
      expect({ words, exitCode, text: `${String(stdout)}${String(stderr)}` }).toMatchObject({
        words,
        exitCode: 0,
        text: expect.stringMatching(/here|There is no state yet/),
      });
    }
    const listed = await inHere("state", "list", "-");
    expect(listed).toMatchObject({ exitCode: 1 });
    expect(listed.stderr).toContain("There is no state yet");
    const outside = await windlass(["configurations", "show", "-"], {
      cwd: ada.path,
      env: ada.environment,
    });
    expect(outside).toMatchObject({ exitCode: 2 });
    expect(outside.stderr).toContain("this one has none here. Name the configuration: NAME");
    for (const words of [
      ["configurations", "create", "-", "--dir", "."],
      ["configurations", "update", "here", "--rename", "-"],
      ["up", "--name", "-"],
    ]) {
      const refused = await inHere(...words);
      expect([words, refused.exitCode]).toEqual([words, 2]);
      expect(refused.stderr).toContain("- is not a name");
    }
    await ada.user.configure({ name: "twice", origin });
    const both = await show(cwd);
    expect(both).toMatchObject({ exitCode: 2, stdout: "" });
    expect(both.stderr).toMatch(/Pass (twice\/- or here\/-|here\/- or twice\/-)$/);
  });

  test("delete asks for confirmation on a terminal", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "db" });
    for (const [answer, code] of [
      ["n\r", 1],
      ["\u0003", 130],
      ["y\r", 0],
    ] as const) {
      await using terminal = openTerminal(["configurations", "delete", "db"], ada.environment);
      await terminal.shows('Delete the configuration "db"');
      terminal.type(answer);
      expect(await terminal.exited).toBe(code);
    }
    expect(await ada.json("configurations", "list")).toEqual([]);
  });

  test("reports missing and wrong arguments and creates nothing", async () => {
    await using ada = await userMachine(plane);
    const directory = writeFiles(join(ada.path, "empty"), { "readme.md": "" });
    writeFiles(ada.path, { "main.tf": 'variable "size" {}' });
    const git = ["--git", "https://git.example.com/x.git"];
    const wrong: [string[], string][] = [
      [["create", "x"], "Missing source."],
      [["create", "x", "--dir", directory], "has no .tf files"],
      [["create", "x", "--dir", join(ada.path, "nowhere")], "there is no such file or directory"],
      [
        ["create", "x", "--dir", "nowhere"],
        'windlass: "nowhere" cannot be packed: there is no such',
      ],
      [["create", "x", ...git, "--parallelism", "1O"], "--parallelism must be a whole number"],
      [["create", "x", ...git, "--timeout", "-1"], "--timeout must be a whole number"],
      [
        ["create", "x", "--dir", join(ada.path, "main.tf")],
        `Pass the directory in which it is, such as ${ada.path}`,
      ],
      [["create", "x", "--git", "https://a.example", "--dir", "."], "either --git or --dir"],
      [["create", "x", "--dir", directory, "--zone", "zonee"], "Did you mean zone?"],
      [["create", "x", "--dir", directory, "--var", "novalue"], "must be name=value"],
      [["create", "--file", join(ada.path, "no.json")], 'no.json" cannot be read: there is no'],
      [
        ["create", "x", ...git, "--var-file", join(ada.path, "main.tf")],
        "the name of a file of variables must end in .tfvars, or in .tfvars.json if it is JSON",
      ],
      [["create", "x", ...git, "--no-approvals-by-author"], "There is no approval rule to change"],
      [
        ["create", "x", ...git, "--approvals", "6"],
        "--approvals must be a whole number from 0 to 5",
      ],
      [
        ["create", "x", ...git, "--timeout", "x"],
        "--timeout must be a whole number from 1 to 604800",
      ],
      [["create", "x", ...git, "--label", "gpu,us"], "Pass --label once for each label"],
      [["update", "y"], 'There is no configuration "y"'],
      [["create", "x", ...git, "--ref=--upload-pack=x"], "source.ref must be a branch, a tag or"],
      [["create", "x", ...git, "--path", "../.."], "source.path must be inside the source"],
    ];
    for (const [words, message] of wrong) {
      const { exitCode, stdout, stderr } = await ada.run("configurations", ...words);
      expect({ words, stdout }).toEqual({ words, stdout: "" });
      expect(exitCode).toBeGreaterThan(0);
      expect(stderr).toContain(message);
      expect(stderr).not.toMatch(/ENO[A-Z]+/);
    }
    expect(readFileSync(join(directory, "readme.md"), "utf8")).toBe("");
    expect(await ada.json("configurations", "list")).toEqual([]);
  });
});
