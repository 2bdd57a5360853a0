/** `npm run prove` repeats each race 1,000 times; with two control planes: test/faults/races.test.ts. */
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { teamRaces } from "../../../helpers/team-races.ts";

const { plane } = planeForFile();

teamRaces(() => ({ first: plane, second: plane }));
