/** `npm run prove` repeats each race 1,000 times; with two control planes: test/faults/races.test.ts. */
import { approvalRaces } from "./races.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

approvalRaces(() => ({ first: plane, second: plane }));
