/** `npm run prove` repeats each race 1,000 times; with two control planes: test/faults/races.test.ts. */
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { teamRaces } from "./races.ts";

const { plane } = planeForFile();

teamRaces(() => ({ first: plane, second: plane }));
