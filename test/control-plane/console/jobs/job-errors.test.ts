import { expect, test } from "vitest";
import { texts } from "../../../helpers/console/forms.ts";
import { jobErrors } from "../../../../control-plane/console/jobs/job-errors.ts";

test("an error that is repeated is shown once, after those that name a resource or a file", () => {
  const none = { detail: "", address: null, file: null, line: null, code: "" };
  const halted = { ...none, summary: "execution halted" };
  const failed = { ...none, summary: "failed to run", address: "terraform_data.a" };
  const job = { error_message: "apply failed (exit code 1): x", configuration_id: null };
  const page = jobErrors(job, [halted, halted, failed, halted])?.text ?? "";
  expect(texts(page, "strong")).toEqual(["failed to run", "execution halted"]);
  expect(page).toContain("3 times");
});
