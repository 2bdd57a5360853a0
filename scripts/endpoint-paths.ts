/** `npm run endpoint-paths`: writes the paths of the declared endpoints for the clients. */
import { writeFileSync } from "node:fs";
import { endpoints } from "../protocol/endpoints.ts";

const paths = Object.entries(endpoints).map(([name, { method, path }]) => [
  name,
  `${method} ${path}`,
]);
writeFileSync(
  new URL("../protocol/endpoint-paths.json", import.meta.url),
  `${JSON.stringify(Object.fromEntries(paths), null, 2)}\n`,
);
