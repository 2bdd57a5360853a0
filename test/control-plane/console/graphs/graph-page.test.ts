import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { graphView } from "../../../../control-plane/console/graphs/graph-page.ts";
import { viewOf } from "../../../../control-plane/domain/graph-view.ts";
import { addState, ResourceGraph } from "../../../../control-plane/domain/resource-graph.ts";
import { drawnStateLimit } from "../../../../control-plane/services/graphs/graphs.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { stateResource, writeState } from "../../../helpers/console/sample-pages.ts";
import { ask, setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
let id: string;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
  id = await fixture.configure("network");
  await writeState(plane, fixture, id);
});
const page = (query = "", headers: Record<string, string> = fixture.headers, of = id) =>
  ask(plane, "GET", `/configurations/${of}/graph${query}`, { headers });
/** The addresses of links in the drawing. */
const links = (text: string) => attributes(text, "svg a.fold");

describe("the graph of a configuration's state", () => {
  test("is linked from the configuration and shows resources, modules and dependencies", async () => {
    const configuration = await fixture.page(`/configurations/${id}/state`);
    expect(configuration.text).toContain(`/configurations/${id}/graph`);
    const answer = await page();
    const { status, text } = answer;
    expect(status).toBe(200);
    expect(texts(text, "svg:not(.icon)")).toHaveLength(1);
    const shown = words(answer);
    expect(shown).toContain("11 resources, 1 data source, 3 modules.");
    expect(shown).toContain("aws_instance.web (2 instances) needs data.aws_ami.linux");
    // Only names leave the state.
    expect(text).not.toContain("aws_vpc.main-0");
  });

  test("opens and closes modules by links", async () => {
    const close = links((await page()).text).find((path) => path?.endsWith("network")) ?? "";
    const closed = await fixture.page(close);
    expect(closed.text).not.toContain("aws_subnet");
    expect(closed.text).toContain("module.database.aws_db_instance.main");
    const open = links(closed.text).find((path) => !path?.includes("database"));
    expect(open).toBe(`/configurations/${id}/graph`);

    const all = (await page("?modules=closed")).text;
    expect(all).not.toContain("aws_db_instance");
    const one = links(all).find((path) => path?.includes("network")) ?? "";
    const opened = (await fixture.page(one)).text;
    expect(opened).toContain("aws_subnet");
    expect(opened).not.toContain("aws_db_instance");
  });

  test("takes any query", async () => {
    const query = `?modules=closed&modules=open&flip[a]=b&flip[]=<script>&${"flip=x&".repeat(500)}flip=__proto__`;
    const { status, text } = await page(query);
    expect(status).toBe(200);
    expect(texts(text, "script:not([src])")).toEqual([]);
  });

  test("escapes names", async () => {
    const hostile = await fixture.configure("hostile");
    const name = '</text><script>alert("1")</script>';
    await writeState(plane, fixture, hostile, [
      { ...stateResource("a.b"), type: '"><img onerror=x>', name },
      { ...stateResource("a.c"), module: "module.<b>" },
    ]);
    const { status, text } = await page("", fixture.headers, hostile);
    expect(status).toBe(200);
    expect(words(text)).toContain("</text><script>");
    expect(texts(text, "script:not([src]), img, b")).toEqual([]);
  });

  test("counts instances, and names no modules where there are none", async () => {
    const flat = await fixture.configure("flat");
    await writeState(plane, fixture, flat, [stateResource("a.item", [], 40)]);
    expect(words(await page("", fixture.headers, flat))).toContain("40 resources. −");
  });

  test("says why there is none", async () => {
    const fresh = await fixture.configure("fresh");
    expect((await page("", fixture.headers, fresh)).text).toContain("There is no state yet.");
    const large = await fixture.configure("large");
    await writeState(plane, fixture, large);
    await setRows(plane, "state_versions", { size_bytes: drawnStateLimit + 1 }, { spec_id: large });
    expect((await page("", fixture.headers, large)).text).toContain("too large to draw");
  });

  test("is for those who may see the configuration", async () => {
    const { headers } = await openSampleUser(plane);
    expect((await page("", headers)).status).toBe(404);
    expect((await page("", fixture.headers, randomUUID())).status).toBe(404);
    expect((await page("", {})).status).toBe(303);
  });
});

test("a graph whose layout was given up is a list", () => {
  const graph = new ResourceGraph();
  addState(graph, { resources: [stateResource("module.m.a.b", ["a.c"]), stateResource("a.c")] });
  const view = viewOf(graph, { isOpen: true, flipped: new Set() });
  const { text } = graphView({ view, drawing: undefined }, "Resources", "/graph");
  expect(texts(text, "svg")).toEqual([]);
  expect(words(text)).toMatch(
    /too complex to draw.* a\.c is needed by module\.m\.a\.b module\.m\.a\.b needs a\.c/,
  );
});

describe("the graph of a plan", () => {
  test("colours what changes, with the dependencies of the state, and is linked from the job", async () => {
    await fixture.post(`/configurations/${id}/state/unlock`);
    const job = await fixture.begin({ job_type: "PLAN", configuration_id: id });
    const path = `/jobs/${job}/graph`;
    const read = (from: string, headers = fixture.headers) => ask(plane, "GET", from, { headers });
    expect((await read(path)).status).toBe(404);
    const counts = { ...emptySummary.counts, create: 1, delete: 2 };
    const plan_summary = {
      ...emptySummary,
      counts,
      changes: [
        { address: "aws_instance.web[0]", action: "delete" },
        { address: "aws_instance.web[1]", action: "delete" },
        { address: "module.database.aws_db_instance.replica", action: "create" },
      ],
      graph: [
        {
          address: "module.database.aws_db_instance.replica",
          needs: ["module.database.aws_db_instance.main", "aws_vpc.gone"],
        },
      ],
      changes_omitted: 3,
    };
    await fixture.end(job, "SUCCESS", { plan_summary });
    expect((await read(`/jobs/${job}`)).text).toContain(path);
    const answer = await read(path);
    for (const action of ["delete", "create"])
      expect(texts(answer, `.node.resource.${action}`)).not.toEqual([]);
    const shown = words(answer);
    expect(shown).toContain("12 resources, 1 data source, 3 modules.");
    expect(shown).toContain("aws_instance.web (2 instances, 2 to destroy) needs");
    expect(shown).toContain(
      "module.database.aws_db_instance.replica (1 to create) needs module.database.aws_db_instance.main ",
    );
    expect(shown).not.toContain("aws_vpc.gone");
    expect(shown).toContain("What the changed resources need comes from the configuration");
    expect(shown).toContain("3 more changes than it lists");
    const { text } = await read(`${path}?modules=closed`);
    expect(texts(text, ".node.module.create")).not.toEqual([]);
    const { headers } = await openSampleUser(plane);
    expect((await read(path, headers)).status).toBe(404);
  });
});
