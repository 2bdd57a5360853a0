/**
 * Two hundred environment variables by which a configuration could make the shell, the loader, git
 * or terraform run or write something. They pass through the agent's environment and wrapper to
 * real programs. Each would leave its own trace if it had an effect.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { JobContext } from "../../../agent/job/context.ts";
import { environmentOf } from "../../../agent/job/terraform/environment.ts";
import { openIsolation } from "../../../agent/job/isolation/open.ts";
import { openRun } from "../../../agent/job/terraform/process.ts";
import { workspaceOf } from "../../../agent/job/workspace.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

const place = folderForFile();
const traces = join(place, "traces");
const evil = join(place, "evil");
const workspace = workspaceOf(place, { job: { id: "j" } } as never);

/** The values of a variable: a script, shell commands, and a file that a program would write. */
const trace = (name: string): string => join(traces, name.replaceAll(/\W/g, "_"));
const values = (name: string): string[] => [
  join(evil, "script"),
  `$(touch ${trace(name)})`,
  `!touch ${trace(name)}`,
  `() { :; }; touch ${trace(name)}`,
  trace(name),
];

const loaders =
  "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT LD_DEBUG_OUTPUT LD_PROFILE_OUTPUT LD_BIND_NOW LD_ORIGIN_PATH LD_SHOW_AUXV LD_USE_LOAD_BIAS LD_DYNAMIC_WEAK LD_HWCAP_MASK LD_TRACE_LOADED_OBJECTS LD_CONFIG LD_RUN_PATH LD_ELF_HINTS_PATH LD_LIBRARY_PATH_64 LD_PRELOAD_32 LD_AOUT_PRELOAD LD_NOOPEN LD_CONFIG_64 LD_VERBOSE LD_WARN LD_ASSUME_KERNEL";
const shells = "BASH_ENV ENV PATH HOME NODE_OPTIONS";
const gits =
  "GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_PARAMETERS GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_CEILING_DIRECTORIES GIT_COMMON_DIR GIT_ALLOW_PROTOCOL GIT_PROTOCOL_FROM_USER GIT_TRACE GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF GIT_TRACE_SETUP GIT_TRACE_PACKET GIT_TRACE_CURL GIT_TRACE_PACK_ACCESS GIT_TRACE_PERFORMANCE GIT_TRACE_REFS GIT_REDIRECT_STDOUT GIT_REDIRECT_STDERR GIT_SSL_NO_VERIFY GIT_SSL_CAINFO GIT_SSL_CERT GIT_SSL_KEY GIT_HTTP_USER_AGENT GIT_TERMINAL_PROMPT GIT_ATTR_SOURCE GIT_SHELL_PATH GIT_TRACE2_DST_DEBUG GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_MERGE_AUTOEDIT GIT_SMART_HTTP GIT_CURL_VERBOSE GIT_HTTP_LOW_SPEED_LIMIT GIT_PREFIX GIT_QUARANTINE_PATH GIT_PUSH_OPTION_COUNT GIT_REF_PARANOIA GIT_SUPER_PREFIX GIT_DEFAULT_HASH GIT_TEST_ASSUME_DIFFERENT_OWNER GIT_LFS_SKIP_SMUDGE";
const terraforms =
  "TF_CLI_ARGS TF_CLI_ARGS_init TF_CLI_ARGS_plan TF_CLI_ARGS_apply TF_CLI_ARGS_show TF_CLI_ARGS_output TF_CLI_ARGS_state TF_CLI_ARGS_version TF_CLI_CONFIG_FILE TF_DATA_DIR TF_WORKSPACE TF_LOG TF_LOG_PATH TF_LOG_CORE TF_LOG_PROVIDER TF_LOG_PROVIDER_X TF_LOG_SDK TF_LOG_JSON TF_REATTACH_PROVIDERS TF_PLUGIN_CACHE_DIR TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE TF_HTTP_ADDRESS TF_HTTP_LOCK_ADDRESS TF_HTTP_UNLOCK_ADDRESS TF_HTTP_USERNAME TF_HTTP_PASSWORD TF_HTTP_RETRY_MAX TF_HTTP_CLIENT_CA_CERTIFICATE_PEM TF_HTTP_UPDATE_METHOD TF_HTTP_LOCK_METHOD TF_ENCRYPTION";
const clouds =
  "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_AUTHORIZATION_TOKEN AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_EC2_METADATA_DISABLED AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_CA_BUNDLE AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL_STS AWS_SDK_LOAD_CONFIG AWS_DEFAULT_PROFILE";
const forbidden = [loaders, shells, gits, terraforms, clouds].flatMap((list) => list.split(" "));
/** Names in another letter case, which an exact comparison would accept. */
const otherCase =
  "Path path Home Ld_Preload ld_preload bash_env Env node_options git_ssh_command Git_Config_Count tf_cli_args Tf_Cli_Config_File tf_log_path aws_profile Aws_Config_File";
const impossible = [
  "",
  " ",
  "=",
  "A=B",
  "LD_PRELOAD=x",
  "PATH=/evil",
  "A\0B",
  "LD_PRELOAD\0",
  "BASH_FUNC_env%%",
  "BASH_FUNC_terraform%%",
  "BASH_FUNC_sh()",
  "BASH_FUNC_touch%%",
  "1A",
  "-",
  "--",
  "A-B",
  "A B",
  " LD_PRELOAD",
  "LD_PRELOAD ",
  "\nLD_PRELOAD",
  "LD_PRELOAD\n",
  "A\nLD_PRELOAD=x",
  "\tPATH",
  "PÄTH",
  "ＰＡＴＨ",
  "PATH\u200b",
  "\ud800",
  "😀",
  "$(touch x)",
  "`touch x`",
  "a;b",
  "../x",
  "A.B",
  "A[0]",
  "x[$(touch y)]",
  "A:B",
  "A'B",
  'A"B',
  "A\\B",
  "%s%n",
];
const kept = "TMPDIR LANG TF_INPUT TF_IN_AUTOMATION CHECKPOINT_DISABLE".split(" ");
const hostile = [...forbidden, ...otherCase.split(" "), ...impossible, ...kept];

const context = {
  claim: {},
  settings: { path: process.env["PATH"] ?? "", network: {} },
  workspace,
  isolation: { temporary: () => workspace.temporary },
} as unknown as JobContext;
const environment = (own: Record<string, unknown>): Record<string, string> =>
  environmentOf(context, { own, state: {}, cloud: {} });

beforeAll(() => {
  for (const folder of [traces, evil, workspace.source, workspace.home, workspace.temporary])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(evil, "script"), `#!/bin/sh\ntouch '${traces}/script'\n`);
  chmodSync(join(evil, "script"), 0o755);
  writeFileSync(workspace.cliConfig, "disable_checkpoint = true\n");
  writeFileSync(
    join(workspace.source, "main.tf"),
    'resource "terraform_data" "it" {\n  provisioner "local-exec" {\n    interpreter = ["/bin/bash", "-c"]\n    command     = "git init -q x; git -C x status; env > seen; sh -c :; true"\n  }\n}\n',
  );
});

test("the list has at least 200 distinct names", () => {
  expect(new Set(hostile).size).toBeGreaterThanOrEqual(200);
});

test("no hostile variable gets into the environment, alone or with the others", () => {
  const before = environment({});
  for (const name of hostile)
    for (const value of values(name))
      expect([name, environment({ [name]: value })]).toEqual([name, before]);
  expect(environment(Object.fromEntries(hostile.map((name) => [name, "x"])))).toEqual(before);
});

test("terraform, git and shells execute and write nothing of all the variables", async () => {
  const job = { id: "j", workspace, state: undefined, user: undefined };
  const isolation = openIsolation("process", job, { path: process.env["PATH"] ?? "" } as never);
  const terraform = execFileSync("sh", ["-c", "command -v terraform"], { encoding: "utf8" }).trim();
  for (const which of values("").keys()) {
    const own = Object.fromEntries(hostile.map((name) => [name, values(name)[which]]));
    for (const args of [["init"], ["apply", "-auto-approve"]]) {
      const command = isolation.wrap({
        directory: join(place, "runs", `${which}-${args[0]}`),
        command: terraform,
        args,
        cwd: workspace.source,
        env: environment(own),
      });
      const end = await openRun(command).ended;
      expect([args, readOutput(command.directory), end]).toEqual([
        args,
        expect.any(String),
        expect.objectContaining({ code: 0 }),
      ]);
    }
    expect(existsSync(join(workspace.source, "seen"))).toBe(true);
    expect(readdirSync(traces)).toEqual([]);
  }
});

const readOutput = (directory: string): string =>
  ["stdout", "stderr"].map((name) => readFileSync(join(directory, name), "utf8")).join("");

test("a program that gets the variables unfiltered leaves a trace", () => {
  execFileSync("/bin/bash", ["-c", ":"], {
    stdio: "ignore",
    env: { PATH: process.env["PATH"], BASH_ENV: values("BASH_ENV")[1] },
  });
  execFileSync("git", ["version"], {
    env: { PATH: process.env["PATH"], GIT_TRACE: trace("GIT_TRACE") },
  });
  expect(readdirSync(traces).toSorted()).toEqual(["BASH_ENV", "GIT_TRACE"]);
});
