import {
  ErrorMessage,
  JsonObject,
  Labels,
  Name,
  Sha256,
  StoredName,
  Timestamp,
  Uuid,
} from "../../../protocol/fields.ts";
import { Problem } from "../../../protocol/problem.ts";
import { problemExample } from "../problems.ts";
import { at, example, ids, sha256 } from "./example.ts";

export const fieldExamples = [
  example(Uuid, ids.job),
  example(Timestamp, at(0)),
  example(Name, "production"),
  example(StoredName, "production"),
  example(Labels, ["region=eu"]),
  example(Sha256, sha256),
  example(ErrorMessage, "terraform apply failed with exit code 1"),
  example(JsonObject, { team: "platform", rack: 7 }),
  example(Problem, problemExample("invalid_request")),
];
