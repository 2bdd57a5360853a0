import { describe, expect, test } from "vitest";
import {
  addPlan,
  addState,
  ResourceGraph,
  withoutKeys,
  type PlannedGraph,
} from "../../../control-plane/domain/resource-graph.ts";
import { stateResource } from "../../helpers/console/sample-pages.ts";

const graphOf = (state: unknown): ResourceGraph => {
  const graph = new ResourceGraph();
  addState(graph, state);
  return graph;
};

test.each([
  ["aws_instance.web[0]", "aws_instance.web"],
  ['module.a["x.y[0]"].module.b[1].data.aws_ami.c["\\"]"]', "module.a.module.b.data.aws_ami.c"],
  ["aws_instance.web", "aws_instance.web"],
])("the address %s without keys is %s", (keyed, address) => {
  expect(withoutKeys(keyed)).toBe(address);
});

describe("the graph of a state", () => {
  test("has one node for all instances of a resource in all instances of its module", () => {
    const one = stateResource("module.app.aws_instance.web", ["aws_vpc.main"], 2);
    const graph = graphOf({
      resources: [
        stateResource("aws_vpc.main"),
        { ...one, module: 'module.app["a"]' },
        { ...one, module: 'module.app["b"]' },
        stateResource("module.app.data.aws_ami.linux"),
      ],
    });
    expect([...graph.resources.values()]).toEqual([
      expect.objectContaining({ address: "aws_vpc.main", module: "", instances: 1, isData: false }),
      expect.objectContaining({
        address: "module.app.aws_instance.web",
        module: "module.app",
        type: "aws_instance",
        name: "web",
        instances: 4,
      }),
      expect.objectContaining({ address: "module.app.data.aws_ami.linux", isData: true }),
    ]);
    expect(graph.edges).toEqual([["module.app.aws_instance.web", "aws_vpc.main"]]);
  });

  test("leaves out dependencies on what the state does not have", () => {
    const { edges } = graphOf({ resources: [stateResource("a.b", ["a.b", "a.gone"])] });
    expect(edges).toEqual([]);
  });

  test.each([
    ["no resources", {}],
    ["a list", []],
    ["null", null],
    ["resources of other types", { resources: [1, null, [], {}, { type: 1, name: 2 }] }],
    ["instances of other types", { resources: [{ type: "a", name: "b.c", instances: 3 }] }],
  ])("takes %s", (_, state) => {
    expect(graphOf(state).resources.size).toBe(0);
  });

  test("keeps 20,000 resources and counts the others", () => {
    const resources = Array.from({ length: 20_005 }, (_, at) => ({ type: "a", name: `n${at}` }));
    const graph = graphOf({ resources });
    expect([graph.resources.size, graph.omitted]).toEqual([20_000, 5]);
  });
});

describe("the graph of a plan", () => {
  const module = 'module.app["a"]';
  const changes: PlannedGraph["changes"] = [
    { address: "aws_vpc.main", action: "create" },
    { address: `${module}.aws_instance.web[0]`, action: "create" },
    { address: `${module}.aws_instance.web[1]`, action: "create" },
    { address: 'aws_subnet.a["x"]', action: "update" },
    { address: 'aws_subnet.a["y"]', action: "create" },
    { address: "aws_eip.b[0]", action: "none", previous_address: "aws_eip.b" },
  ];
  const before = [
    { ...stateResource("aws_subnet.a"), instances: [{ index_key: "x" }] },
    stateResource("aws_eip.b"),
  ];
  const after = [
    stateResource("aws_vpc.main"),
    { ...stateResource("aws_instance.web", [], 2), module },
    { ...stateResource("aws_subnet.a"), instances: [{ index_key: "x" }, { index_key: "y" }] },
    { ...stateResource("aws_eip.b"), instances: [{ index_key: 0 }] },
  ];

  test.each([
    ["before its deployment", before],
    ["after it", after],
    ["after the destruction", []],
  ])("counts its instances once with the state %s", (_, resources) => {
    const graph = new ResourceGraph();
    addPlan(graph, { changes }, { resources });
    const counts = [...graph.resources.values()].map(({ address, instances }) => [
      address,
      instances,
    ]);
    expect(Object.fromEntries(counts)).toEqual({
      "aws_vpc.main": 1,
      "module.app.aws_instance.web": 2,
      "aws_subnet.a": 2,
      "aws_eip.b": 1,
    });
  });

  const user = stateResource("terraform_data.user", ["terraform_data.a"]);
  const moved = (from: string, to: string) =>
    ({ address: to, action: "none", previous_address: from }) as const;
  const drawn = (changes: PlannedGraph["changes"], resources: object[]) => {
    const graph = new ResourceGraph();
    addPlan(graph, { changes }, { resources });
    const counts = [...graph.resources.values()].map(({ address, instances }) => [
      address,
      instances,
    ]);
    return { counts: Object.fromEntries(counts) as object, edges: graph.edges };
  };

  test.each([
    ["before its deployment", [stateResource("terraform_data.a"), user]],
    [
      "after it",
      [
        stateResource("terraform_data.b"),
        stateResource("terraform_data.user", ["terraform_data.b"]),
      ],
    ],
  ])("has a resource that moves at its new address, with the state %s", (_, resources) => {
    expect(drawn([moved("terraform_data.a", "terraform_data.b")], resources)).toEqual({
      counts: { "terraform_data.b": 1, "terraform_data.user": 1 },
      edges: [["terraform_data.user", "terraform_data.b"]],
    });
  });

  test("has a new resource at the old address of one that has moved", () => {
    const changes = [
      moved("terraform_data.a", "terraform_data.b"),
      { address: "terraform_data.a", action: "create" } as const,
    ];
    const counts = { "terraform_data.a": 1, "terraform_data.b": 1, "terraform_data.user": 1 };
    expect(drawn(changes, [stateResource("terraform_data.a"), user]).counts).toEqual(counts);
    const after = ["terraform_data.a", "terraform_data.b"].map((one) => stateResource(one));
    expect(drawn(changes, [...after, user]).counts).toEqual(counts);
  });

  test("follows moves in a row, of instances and into modules", () => {
    const two = stateResource("terraform_data.a", [], 2);
    const instances = [{ index_key: 0 }, { index_key: 1 }];
    const changes = [
      moved("terraform_data.a[0]", "module.m.terraform_data.a"),
      moved("terraform_data.c", "terraform_data.d"),
      moved("terraform_data.b", "terraform_data.c"),
    ];
    const resources = [
      { ...two, instances },
      stateResource("terraform_data.b"),
      stateResource("terraform_data.c"),
      user,
    ];
    expect(drawn(changes, resources)).toEqual({
      counts: {
        "module.m.terraform_data.a": 1,
        "terraform_data.a": 1,
        "terraform_data.c": 1,
        "terraform_data.d": 1,
        "terraform_data.user": 1,
      },
      // Not every instance of it moves.
      edges: [["terraform_data.user", "terraform_data.a"]],
    });
  });
});
