/**
 * Uses every part of the product with a command driver (command-driver.ts), in an order in which
 * each step has what it needs.
 */
import { join } from "node:path";
import { expect } from "vitest";
import type { Delivery } from "../../protocol/notifications.ts";
import type { Job } from "../../protocol/jobs.ts";
import type { CommandDriver } from "../helpers/cli/command-driver.ts";
import { copyFixture } from "../helpers/agent/fixtures.ts";

export type Person = CommandDriver & { readonly path: string };

/** Returns the id of the job that a command has shown. */
export const jobIn = (shown: string): string => /^id +(\S+)$/m.exec(shown)?.[1] ?? "";

/** Creates, renames, shows and deletes zones and cloud identities. The zone "south" stays. */
export async function useZonesAndIdentities({ run }: Person): Promise<void> {
  await run(["zones", "create", "north"], { data: /^name +north$/m });
  await run(["zones", "rename", "north", "south"], { data: /^name +south$/m });
  await run(["zones", "create", "empty"], { data: /^name +empty$/m });
  await run(["zones", "delete", "empty"], {
    asks: 'Delete the zone "empty"?',
    says: /"empty" is deleted/,
  });
  await run(["zones", "list"], { data: /^south +0 /m, reads: true });
  await run(["zones", "show", "south"], { data: /^configurations +none$/m, reads: true });

  const role = "arn:aws:iam::123456789012:role/deploy";
  const principal = "arn:aws:iam::210987654321:role/runners";
  await run(["identities", "create", "prod", "--role", role], { data: /^external id +\S+$/m });
  await run(["identities", "update", "prod", "--rename", "live"], { data: /^name +live$/m });
  await run(["identities", "list"], { data: /^live +aws +arn:/m, reads: true });
  await run(["identities", "show", "live"], { data: /^role +arn:aws/m, reads: true });
  await run(["identities", "trust-policy", "live", "--principal", principal], {
    data: /"sts:ExternalId"/,
    reads: true,
  });
  const web = ["--provider", "aws-web-identity", "--role", role];
  await run(["identities", "create", "web", ...web], { data: /^audience +sts\.amazonaws\.com$/m });
  await run(["identities", "trust-policy", "web"], {
    data: /AssumeRoleWithWebIdentity/,
    reads: true,
  });
  await run(["identities", "delete", "live"], {
    asks: 'Delete the cloud identity "live"?',
    says: /is deleted/,
  });
}

/** Uses the runner that is online, and a worker "leaving" without a runner. */
export async function useWorkers({ run }: Person): Promise<void> {
  await run(["workers", "list"], { data: /^runner +ONLINE .* 0 of 1 /m, reads: true });
  await run(["workers", "show", "runner"], { data: /^jobs +none$/m, reads: true });
  const made = await run(["tokens", "create"], { data: /^id +\S+$/m });
  await run(["tokens", "list"], { data: /^1 +\d+s ago /m, reads: true });
  await run(["tokens", "revoke", jobIn(made)], { says: /is revoked/ });
  await run(["access-tokens", "create", "ci", "--role", "planner"], {
    data: /^token +wlt_[\w-]{43}$/m,
    says: /not shown again/,
  });
  await run(["access-tokens", "list"], { data: /^ci +planner +wlt_.* never /m, reads: true });
  await run(["access-tokens", "revoke", "ci"], { says: /"ci" is revoked/ });
  await run(["workers", "create", "leaving"], { data: /^worker_token +wlw_\S+$/m });
  await run(["workers", "drain", "leaving"], { data: /^status +DRAINING$/m });
  await run(["workers", "undrain", "leaving"], { data: /^status +REGISTERED$/m });
  await run(["workers", "rotate-token", "leaving"], {
    asks: 'Create a new token for "leaving"? The current token ends in 600 seconds.',
    data: /^worker_token +wlw_\S+$/m,
  });
}

/** Creates, updates, shows and deletes a configuration with a secret. */
export async function useConfigurations({ run, path }: Person): Promise<void> {
  const directory = copyFixture("sensitive-outputs", join(path, "db"));
  await run(["configurations", "create", "--dir", directory, "--sensitive", "db_password"], {
    secret: "correct horse battery staple",
    data: /^variables +db_password = \(sensitive\)$/m,
    says: /^Packed \d+ files? of [\s\S]*windlass jobs plan db --wait$/m,
  });
  await run(["configurations", "update", "db", "--label", "gpu"], { data: /^labels +gpu$/m });
  await run(["configurations", "list"], { data: /^db +south +NEW +- +archive/m, reads: true });
  await run(["configurations", "show", "db"], { data: /^source +archive/m, reads: true });
  await run(["variable-sets", "create", "common", "--sensitive-env", "DNS_API_TOKEN"], {
    secret: "correct horse battery staple",
    data: /^environment +DNS_API_TOKEN=\(sensitive\)$/m,
  });
  await run(["variable-sets", "update", "common", "--var", "region=eu"], {
    data: /^variables +region = eu$/m,
  });
  await run(["variable-sets", "attach", "common", "--configuration", "db"], {
    data: /^configurations +db$/m,
  });
  await run(["configurations", "show", "db"], {
    data: /region = eu +\(from the variable set "common"\)/,
  });
  await run(["variable-sets", "detach", "common", "--configuration", "db"], {
    data: /^name +common$/m,
  });
  await run(["variable-sets", "list"], { data: /^common +1 +1 +0 +0 /m, reads: true });
  await run(["variable-sets", "show", "common"], { data: /^name +common$/m, reads: true });
  await run(["variable-sets", "delete", "common"], {
    asks: 'Delete the variable set "common"?',
    says: /is deleted/,
  });
  await run(["configurations", "delete", "db"], {
    asks: 'Delete the configuration "db" and all versions of its state?',
    says: /is deleted/,
  });
}

/** Connects a code host and follows a branch of its repository `ada/infra`. */
export async function useConnections({ run }: Person, base: string): Promise<void> {
  await run(["connections", "create", "git", "--kind", "forgejo", "--base-url", base], {
    secret: "full",
    data: /^secret +wlwh_\S+$/m,
    says: /windlass connections check git/,
  });
  await run(["connections", "list"], { data: /^git +forgejo +http/m, reads: true });
  await run(["connections", "show", "git"], { data: /^looks every +300 seconds$/m, reads: true });
  await run(["connections", "check", "git"], {
    data: /^write:issue +ok +comments/m,
    says: /Account: windlass-bot/,
  });
  await run(["connections", "repositories", "git"], { data: /^ada\/infra +main +yes/m });
  await run(["connections", "add-webhook", "git", "ada/infra"], { says: /sends the events of/ });
  await run(["connections", "rotate-secret", "git"], {
    data: /^secret +wlwh_\S+$/m,
    says: /within 3600 seconds/,
  });
  await run(["connections", "update", "git", "--credential", "--status-name", "infra"], {
    secret: "full",
    data: /^status name +infra$/m,
  });
  const create = ["configurations", "create", "infra", "--git", `${base}/ada/infra.git`];
  await run(create, { data: /^source +http/m, says: /windlass jobs plan infra/ });
  await run(["configurations", "follow", "infra", "--forks", "approved"], {
    data: /^follows +main of ada\/infra/m,
    says: /It follows main/,
  });
}

/** Makes a notification rule, tests it, and deletes it. The receiver at `url` answers 204. */
export async function useNotifications({ run, json }: Person, url: string): Promise<void> {
  const name = ["notifications", "create", "ops", "--to", "webhook", "--url", url];
  await run([...name, "--event", "audit.release.publish"], {
    data: /^secret +whsec_\S+$/m,
    says: /windlass notifications test ops/,
  });
  await run(["notifications", "list"], { data: /^ops +webhook, 127\.0\.0\.1/m, reads: true });
  await run(["notifications", "show", "ops"], { data: /^enabled +yes$/m, reads: true });
  await run(["notifications", "test", "ops"], { data: /^status +delivered \(204\)$/m });
  await run(["notifications", "deliveries", "ops"], {
    data: / ping +delivered \(204\)/,
    reads: true,
  });
  const deliveries: readonly Delivery[] = await json("notifications", "deliveries", "ops");
  await run(["notifications", "redeliver", "ops", deliveries[0]!.id], {
    data: /^status +delivered \(204\)$/m,
  });
  await run(["notifications", "rotate-secret", "ops"], {
    data: /^secret +whsec_\S+$/m,
    says: /within 3600 seconds/,
  });
  await run(["notifications", "update", "ops", "--disable"], { data: /^enabled +no$/m });
  await run(["notifications", "delete", "ops"], {
    asks: 'Delete the notification rule "ops" and its deliveries?',
    says: /is deleted/,
  });
}

/** Lets a commit of the fork `ada/infra#1` be planned, and ends the connection. */
export async function usePullRequests({ run }: Person, commit: string): Promise<void> {
  await run(["pull-requests", "list"], { data: /^ada\/infra#1 +a change +bob/m, reads: true });
  await run(["pull-requests", "approve", "ada/infra#1", "--commit", commit], {
    says: /will be planned/,
  });
  await run(["configurations", "follow", "infra", "--end"], { data: /^name +infra$/m });
  await run(["configurations", "delete", "infra"], {
    asks: 'Delete the configuration "infra" and all versions of its state?',
    says: /is deleted/,
  });
  await run(["connections", "delete", "git"], {
    asks: 'Delete the connection "git"? Webhooks at the host stay.',
    says: /is deleted/,
  });
}

/** Runs `windlass up` for a configuration "network". */
export async function bringUp({ run, way, path }: Person): Promise<void> {
  const directory = copyFixture("success-cluster", join(path, "network"));
  const words = ["up", directory, "--var", "cluster_name=prod"];
  const outputs = /^ {2}cluster_name += prod$/m.source;
  const course = { data: new RegExp(`✓ apply [\\s\\S]*${outputs}`, "m") };
  if (way === "a pipe")
    await run([...words, "--yes"], {
      data: new RegExp(`Apply complete! [\\s\\S]*${outputs}`, "m"),
    });
  else {
    const answer = { to: "Deploy this plan? [y/N] ", line: async () => "y" };
    const screen = await run(words, { ...course, answer });
    expect(screen).toMatch(/deployment of "network" · \d+s · /);
  }
}

/** Plans and deploys a change of "network", and cancels, retries and cancels a job. */
export async function useJobs({ run, json, path }: Person): Promise<void> {
  await run(["configurations", "update", "network", "--var", "cluster_name=live"], {
    data: /^variables +cluster_name = live$/m,
  });
  const planned = await run(["jobs", "plan", "network", "--debug", "--wait"], {
    data: /^Plan: \d+ to change/m,
    says: /^The plan of "network" succeeded after/m,
  });
  const plan = /--plan (\S+) --wait/.exec(planned)?.[1] ?? "";
  await run(["jobs", "debug-log", plan, "--output", join(path, "debug.log")], {
    says: /^The debug log is in .*debug\.log\. It may hold secrets/m,
  });
  await run(["jobs", "show", plan, "--plan"], { data: /^ +input\.name: "prod" → "live"$/m });
  await run(["jobs", "show", plan, "--markdown"], { data: /^```diff\n! [^]*! +input\.name: /m });
  await run(["jobs", "deploy", "--plan", plan, "--wait"], { data: /Apply complete!/ });
  const [deployed] = (await json("jobs", "list")) as Job[];
  await run(["jobs", "list", "--mine", "--configuration", "network", "--type", "deploy"], {
    data: /^DEPLOY +network +SUCCESS +~\d+ /m,
    reads: true,
  });
  await run(["jobs", "show", deployed?.id ?? ""], {
    data: /^Outputs:\n[\s\S]*cluster_name += live$/m,
    reads: true,
  });
  await run(["jobs", "logs", "network/-", "--follow"], { data: /Apply complete!/ });
  await run(["drift", "check", "network", "--wait"], { data: /^drift +in sync$/m });
  await run(["drift", "show", "network"], { data: /^drift +in sync$/m, reads: true });
  await run(["drift", "list"], { says: /No configuration has drifted/ });
  await run(["drift", "put-back", "network", "--wait"], { data: /No changes/ });

  const words = ["--configuration", "network", "--cron", "0 0 1 1 *", "--timezone", "UTC"];
  await run(["schedules", "create", "yearly", "--kind", "plan", ...words], {
    data: /^comes +On day 1 of the month at 00:00 in January \(0 0 1 1 \*\), UTC$/m,
    says: /windlass schedules run yearly/,
  });
  await run(["schedules", "list"], { data: /^yearly +plan +network /m, reads: true });
  await run(["schedules", "run", "yearly"], { data: /^last +queued/m, says: /jobs logs/ });
  await run(["jobs", "logs", "network/-", "--follow"], { data: /No changes/ });
  await run(["schedules", "update", "yearly", "--disable"], { data: /^next +disabled$/m });
  await run(["schedules", "show", "yearly"], { data: /^enabled +no$/m, reads: true });
  await run(["schedules", "delete", "yearly"], {
    asks: 'Delete the schedule "yearly"? Its jobs stay.',
    says: /is deleted/,
  });

  await run(["configurations", "update", "network", "--approvals", "1", "--approvals-by-author"], {
    data: /^approvals +Every deployment needs 1 approval by a deployer; an author may approve\.$/m,
  });
  for (const decision of ["reject", "approve"]) {
    await run(["jobs", "plan", "network", "--replace", "terraform_data.cluster", "--wait"], {
      data: /1 to replace/,
    });
    const deploy = ["jobs", "deploy", "network", "--plan", "-"];
    const queued = jobIn(await run(deploy, { data: /^waiting +waits for 1 approval/m }));
    await run(["jobs", decision, queued, "--comment", "seen"], {
      data: new RegExp(`^approvals +\\S+ ${decision}e?d `, "m"),
    });
  }
  await run(["jobs", "logs", "network/-", "--follow"], { data: /Apply complete!/ });
  await run(["configurations", "update", "network", "--approvals", "0"], {
    data: /^name +network/m,
  });

  const waits = jobIn(
    await run(["jobs", "plan", "network", "--label", "none"], { data: /^status +QUEUED$/m }),
  );
  await run(["jobs", "cancel", waits], { data: /^status +CANCELLED$/m });
  const again = jobIn(await run(["jobs", "retry", waits], { data: /^status +QUEUED$/m }));
  expect(again).not.toBe(waits);
  await run(["jobs", "cancel", again, "--wait"], { data: /^status +CANCELLED$/m });
}

/** Uses the state of "network", and destroys it. */
export async function useState({ run, json, path }: Person): Promise<void> {
  await run(["state", "versions", "network"], { data: /^SERIAL +RESOURCES/m, reads: true });
  const [newest] = (await json("state", "versions", "network")) as { serial: number }[];
  const file = join(path, "network.tfstate");
  const downloaded = await run(["state", "download", "network"], { into: file, data: /"lineage"/ });
  expect(downloaded).toContain(`"serial": ${newest?.serial}`);
  await run(["state", "list", "network"], { data: /^terraform_data\./m, reads: true });
  const [address = ""] = (await json("state", "list", "network")) as string[];
  await run(["state", "show", "network", address], { data: /^id +=/m });
  await run(["state", "pull", "network"], { into: file, data: /"lineage"/ });
  await run(["state", "push", "network", "--file", file], {
    says: /is the newest version .* already/,
  });
  await run(["state", "rollback", "network", "--serial", String(newest?.serial)], {
    asks: `Roll the state of "network" back to version ${newest?.serial}? Resources created since then are not destroyed, but terraform no longer manages them.`,
    data: new RegExp(`^serial +${(newest?.serial ?? 0) + 1}$`, "m"),
  });
  await run(["state", "versions", "network"], {
    data: new RegExp(`\\S+@\\S+, rolled back to ${newest?.serial}$`, "m"),
    reads: true,
  });
  await run(["jobs", "destroy", "network", "--wait"], {
    asks: 'Destroy everything that "network" has deployed?',
    plans: true,
    data: /3 destroyed/,
  });
}
