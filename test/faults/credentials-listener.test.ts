/**
 * A job that wants the credentials of another one while the agent is away, at every level that works
 * here, with and without root.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Level } from "../../agent/job/isolation/isolation.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { deploy, endpointOf, openCloudFixture, running } from "./cloud-fixture.ts";
import { levelsHere, skipAbsentLevels } from "../helpers/agent/isolation.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";

const { plane } = planeForFile();
const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);

/** A user without privileges, as the shipped unit has one. */
const plainUser = 1_870_000_001;
const isRoot = process.getuid?.() === 0;
const plain = ["--reuid", `${plainUser}`, "--regid", `${plainUser}`, "--clear-groups", "--"];
const sandbox = ["bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"];
const hasPlainSandbox = isRoot && spawnSync("setpriv", [...plain, ...sandbox]).status === 0;
const cases: { level: Level; as: number | undefined; who: string }[] = [
  ...working.map((level) => ({ level, as: undefined, who: isRoot ? "root" : "this user" })),
  ...(isRoot ? [{ level: "process" as const, as: plainUser, who: "a plain user" }] : []),
  ...(hasPlainSandbox
    ? [{ level: "bubblewrap" as const, as: plainUser, who: "a plain user" }]
    : []),
];

/** Reads its credentials again and again. */
const victimCommand = `
  while [ ! -e stop ]; do
    curl -s -m 5 -H "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" $AWS_CONTAINER_CREDENTIALS_FULL_URI > answer.tmp
    mv answer.tmp answer
    sleep 0.1
  done`;

/**
 * Tries to kill the listener and to open its socket, then binds the port of the victim again and
 * again. Keeps what a client sends to it.
 */
const thief = String.raw`
  use strict; use IO::Socket::INET; use IO::Socket::UNIX;
  sub note { my ($name, $text) = @_; open(my $file, ">>", $name); print $file "$text\n"; close($file); }
  sub pause { select(undef, undef, undef, 0.02); }
  pause() until -e "target";
  open(my $target, "<", "target");
  chomp(my ($port, $pid, $socket) = <$target>);
  note("tried", kill(9, $pid) ? "killed" : "not killed") if $pid;
  note("tried", IO::Socket::UNIX->new(Peer => $socket) ? "opened" : "not opened");
  until (-e "stop") {
    my $server = IO::Socket::INET->new(
      LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 5, ReuseAddr => 1, ReusePort => 1, Timeout => 1);
    if (!$server) { note("bound", "$!"); pause(); next; }
    note("bound", "yes");
    my $client = $server->accept() or next;
    while (my $line = <$client>) { note("stolen", $line) if $line =~ /^authorization/i; last if $line =~ /^\r?$/; }
  }`;

describe.each(cases)("at level $level, with an agent of $who", ({ level, as }) => {
  test("no job takes the port of another job's credentials while the agent is away", async () => {
    await using here = await openCloudFixture(plane, {
      as,
      settings: { WINDLASS_ISOLATION: level, WINDLASS_CONCURRENCY: "2" },
    });
    const { owner, sts, user, work } = here;
    const victim = await deploy(here, running(victimCommand));
    const configuration_id = await user.configure({
      source: {
        type: "inline",
        files: { ...running("perl thief.pl").files, "thief.pl": thief },
      },
    });
    const attacker = await user.queue({ job_type: "DEPLOY", configuration_id });
    const ofVictim = (name: string): string => join(work, "workspaces", victim.id, "source", name);
    const ofThief = (name: string): string => join(work, "workspaces", attacker.id, "source", name);
    const text = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
    const answered = (key: string | undefined): Promise<unknown> => {
      rmSync(ofVictim("answer"), { force: true });
      return until(() => key !== undefined && text(ofVictim("answer")).includes(key));
    };
    await until(() => sts.given.length > 0);
    await answered(sts.given[0]?.accessKeyId);

    // At this level, a job can kill everything of the agent.
    const mayTry = level !== "process";
    const { pid } = JSON.parse(text(join(work, "credentials", "process.json"))) as { pid: number };
    const target = [
      endpointOf(here, victim).port,
      mayTry ? pid : "",
      join(work, "credentials/socket"),
    ];
    await until(() => existsSync(ofThief("thief.pl")));
    writeFileSync(ofThief("target"), `${target.join("\n")}\n`);
    await until(() => text(ofThief("bound")) !== "");
    if (mayTry) expect(text(ofThief("tried"))).toBe("not killed\nnot opened\n");

    owner.agent.kill("SIGKILL");
    await owner.agent.exited;
    rmSync(ofThief("bound"), { force: true });
    await until(() => text(ofThief("bound")).split("\n").length > 20);
    await answered(sts.given[0]?.accessKeyId);

    owner.restart();
    await until(() => sts.given.length > 1);
    await answered(sts.given[1]?.accessKeyId);
    expect(new Set(text(ofThief("bound")).trim().split("\n"))).toEqual(
      new Set(["Address already in use"]),
    );
    expect(existsSync(ofThief("stolen"))).toBe(false);
    for (const stop of [ofVictim("stop"), ofThief("stop")]) writeFileSync(stop, "");
    for (const job of [victim, attacker])
      expect(await user.released(job)).toMatchObject({ status: "SUCCESS" });
    await until(() => processesOf(join(work, "credentials")).length === 0);
  });
});
