import { expect, test } from "vitest";
import { terraformErrorsIn, terraformWarningsIn } from "../../common/terraform-diagnostics.ts";

/** As terraform 1.14 prints it, with its colours. */
const apply = `\u001b[31m╷\u001b[0m
\u001b[31m│\u001b[0m \u001b[1m\u001b[31mError: \u001b[0m\u001b[1mcreating EC2 Instance: UnauthorizedOperation\u001b[0m
\u001b[31m│\u001b[0m 
\u001b[31m│\u001b[0m   with module.web.aws_instance.this[0],
\u001b[31m│\u001b[0m   on modules/web/main.tf line 12, in resource "aws_instance" "this":
\u001b[31m│\u001b[0m   12: resource "aws_instance" "this" {
\u001b[31m│\u001b[0m 
\u001b[31m│\u001b[0m You are not authorized to perform this operation.
\u001b[31m╵\u001b[0m
╷
│ Warning: Deprecated attribute
│ 
│   on main.tf line 3:
│    3: x
╵
╷
│ Error: Invalid function argument
│ 
│   on main.tf line 4, in output "x":
│    4:   value = file("none.txt")
│     ├────────────────
│     │ while calling file(path)
│ 
│ Invalid value for "path" parameter: no file exists at "none.txt".
╵
`;

test("terraformErrorsIn returns each error with its file and line, and no warning", () => {
  expect(terraformErrorsIn(apply)).toEqual([
    {
      summary: "creating EC2 Instance: UnauthorizedOperation",
      detail: "You are not authorized to perform this operation.",
      address: "module.web.aws_instance.this[0]",
      file: "modules/web/main.tf",
      line: 12,
      code: '12: resource "aws_instance" "this" {',
    },
    {
      summary: "Invalid function argument",
      detail: 'Invalid value for "path" parameter: no file exists at "none.txt".',
      address: null,
      file: "main.tf",
      line: 4,
      code: ' 4:   value = file("none.txt")\n  ├────────────────\n  │ while calling file(path)',
    },
  ]);
});

test("terraformWarningsIn returns each warning, and no error", () => {
  expect(terraformWarningsIn(apply)).toEqual([
    {
      summary: "Deprecated attribute",
      detail: "",
      address: null,
      file: "main.tf",
      line: 3,
      code: " 3: x",
    },
  ]);
});

test("terraformErrorsIn joins a summary that terraform has wrapped", () => {
  const text =
    "╷\n│ Error: creating the instance: a long\n│ reason\n│ \n│   on main.tf line 2:\n│ \n│ Why.\n╵\n";
  expect(terraformErrorsIn(text)).toMatchObject([
    { summary: "creating the instance: a long reason", detail: "Why.", file: "main.tf", line: 2 },
  ]);
});

test("terraformErrorsIn reads an error without a place, and ends at fifty errors", () => {
  const error = "╷\n│ Error: no credentials\n│ \n│ Error: the agent has none\n╵\n";
  expect(terraformErrorsIn(error)).toEqual([
    {
      summary: "no credentials",
      detail: "Error: the agent has none",
      address: null,
      file: null,
      line: null,
      code: "",
    },
  ]);
  expect(terraformErrorsIn(error.repeat(60))).toHaveLength(50);
  expect(terraformErrorsIn("Error: without a frame\n")).toEqual([]);
});

test("terraformErrorsIn leaves out the error of init that only announces others", () => {
  const announced =
    "╷\n│ Error: Terraform encountered problems during initialisation, including problems\n│ with the configuration, described below.\n│ \n│ The Terraform configuration must be valid.\n╵\n";
  expect(terraformErrorsIn(announced + apply)).toEqual(terraformErrorsIn(apply));
});

test("an error in a value that the agent has passed on names no file of the agent", () => {
  const text = [
    "╷",
    "│ Error: Invalid value for input variable",
    "│ ",
    "│   on ../job.tfvars.json line 1:",
    '│    1: {"b":"x"}',
    "│ ",
    "│ The given value is not suitable for var.b declared at main.tf:1,1-13: list",
    "│ of string required.",
    "╵",
  ].join("\n");
  expect(terraformErrorsIn(text)).toEqual([
    {
      summary: "Invalid value for input variable",
      detail:
        "The given value is not suitable for var.b declared at main.tf:1,1-13: list\nof string required.",
      address: null,
      file: null,
      line: null,
      code: "",
    },
  ]);
});
