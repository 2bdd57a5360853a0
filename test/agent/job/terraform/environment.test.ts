import { expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import { environmentOf } from "../../../../agent/job/terraform/environment.ts";
import { workspaceOf } from "../../../../agent/job/workspace.ts";

const job = { id: "j", job_type: "PLAN", config_snapshot: {}, spec_id: null, zone_id: null };
const workspace = workspaceOf("/srv/agent", { job } as never);
const context = {
  claim: { job },
  settings: { path: "/bin", network: { NO_PROXY: "a" } },
  workspace,
  isolation: { temporary: () => workspace.temporary },
} as unknown as JobContext;
const environment = (own: Record<string, unknown>): Record<string, string> =>
  environmentOf(context, {
    own,
    state: { TF_HTTP_USERNAME: "u" },
    cloud: { AWS_REGION: "eu-west-1" },
  });

test("environmentOf returns the documented variables and nothing of the agent's environment", () => {
  expect(environment({})).toEqual({
    NO_PROXY: "a",
    PATH: "/bin",
    LANG: "C.UTF-8",
    HOME: "/srv/agent/workspaces/j/home",
    TMPDIR: "/srv/agent/workspaces/j/tmp",
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
    CHECKPOINT_DISABLE: "1",
    TF_CLI_CONFIG_FILE: "/srv/agent/workspaces/j/terraform.rc",
    TF_HTTP_USERNAME: "u",
    AWS_EC2_METADATA_DISABLED: "true",
    GCE_METADATA_HOST: "metadata.invalid",
    AWS_REGION: "eu-west-1",
  });
});

test("a configuration adds variables", () => {
  expect(environment({ TF_VAR_size: "3", DIGITALOCEAN_TOKEN: "x" })).toMatchObject({
    TF_VAR_size: "3",
    DIGITALOCEAN_TOKEN: "x",
  });
});

const forbidden = `
  PATH HOME TMPDIR LANG TF_INPUT TF_IN_AUTOMATION CHECKPOINT_DISABLE TF_CLI_ARGS TF_CLI_ARGS_plan
  TF_CLI_CONFIG_FILE TF_DATA_DIR TF_WORKSPACE TF_LOG TF_LOG_PATH TF_REATTACH_PROVIDERS
  TF_PLUGIN_CACHE_DIR TF_HTTP_PASSWORD TF_HTTP_USERNAME TF_ENCRYPTION AWS_PROFILE
  AWS_ACCESS_KEY_ID GIT_SSH_COMMAND GIT_CONFIG_COUNT LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV
  NODE_OPTIONS path Ld_Preload A=B 1A BASH_FUNC_x%%
`
  .trim()
  .split(/\s+/);
test.each([...forbidden, "", "A B", "A\0B"])("a configuration cannot set %j", (name) => {
  const before = environment({});
  expect(environment({ [name]: "evil" })).toEqual(before);
});

test("loopback, which has the credentials, is reached without a proxy", () => {
  const hosts = (own: Record<string, string>) => {
    const { NO_PROXY, no_proxy } = environment({ HTTP_PROXY: "http://proxy.example", ...own });
    return [NO_PROXY, no_proxy];
  };
  expect(hosts({})).toEqual(["a,127.0.0.1", undefined]);
  expect(hosts({ NO_PROXY: "" })).toEqual(["127.0.0.1", undefined]);
  expect(hosts({ NO_PROXY: "", no_proxy: "b, c" })).toEqual(["", "b, c,127.0.0.1"]);
  expect(hosts({ NO_PROXY: "*" })).toEqual(["*", undefined]);
});

test("values that are not strings or have a NUL are dropped", () => {
  expect(environment({ A: "x\0y", B: 3, C: null, D: ["x"] })).toEqual(environment({}));
});
