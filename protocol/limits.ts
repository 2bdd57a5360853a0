/** Without the schemas, which would be a fifth of the memory of an idle agent. */

export const jobTypes = ["PLAN", "DEPLOY", "DESTROY", "DESTROY_WORKER"] as const;

/** The pattern of a name in terraform's language, for a regular expression with the flag u. */
export const identifier = "[\\p{L}_][\\p{L}\\p{N}_-]*";

/** Characters of the shortest beginning by which an id is found. */
export const idPrefixLength = 4;

/** How many days an access token may be valid, and how many it is if the request does not say. */
export const accessTokenDaysLimit = 365;
export const accessTokenDaysDefault = 90;

/** How many runners a registration token may register, and how long it may be valid. */
export const registrationUsesLimit = 1000;
export const registrationSecondsLimit = 30 * 24 * 3600;

/**
 * The team in which a request acts; empty: the personal space. A response to a user with teams
 * names the one in which it acted, which an id decides.
 */
export const teamHeader = "windlass-team";

/** How many days the link of an invitation works. */
export const invitationDays = 7;

/** How many groups a team admits, and the characters of the name of one. */
export const teamGroupsLimit = 100;
export const groupNameLimit = 256;

/** How many people's approvals a configuration may require, and the characters of a comment. */
export const approvalCountLimit = 5;
export const approvalCommentLimit = 1000;
/** How many of those who may approve a deployment are named. */
export const approversShown = 20;

/** How long a claim or a heartbeat may stay open, in seconds. */
export const waitSecondsLimit = 30;

/** How long a replaced token of a worker still works, in seconds. */
export const tokenOverlap = { default: 600, maximum: 600 } as const;

/** The longest time for which a replaced webhook secret is still accepted, in seconds. */
export const webhookOverlapLimit = 7 * 86_400;

/** The longest window over which the runs of a schedule are spread, in minutes. */
export const scheduleWindowLimit = 1440;

/** How many variables the failure of a job names. */
export const failureVariablesLimit = 100;

/** The timeout of a job without one, and the longest one, in seconds. */
export const timeoutSecondsDefault = 3600;
export const timeoutSecondsLimit = 7 * 24 * 3600;

/** Limit of an uploaded archive: 50 MiB, the same as of a plan artifact. */
export const archiveLimit = 52_428_800;

/** Limit of a state: 64 MiB. Terraform sends it in one request. */
export const stateLimit = 64 * 1024 * 1024;

export const lockLimit = 64 * 1024;

/** Limit of a plan artifact: 50 MiB. */
export const planArtifactLimit = 52_428_800;

/** How many former secrets a claimed job has, and their bytes together. */
export const formerSecretsLimit = 10_000;
export const formerSecretBytesLimit = 1_048_576;

export const debugLogLimit = 100 * 1024 * 1024;
/** Limit of its text: up to 1 GiB, in which each byte that is not UTF-8 becomes three. */
export const debugLogTextLimit = 3 * 1024 * 1024 * 1024;

/** Longer addresses and attribute paths in a plan summary are truncated with an ellipsis. */
export const planTextLimit = 1024;
/** Limit of each list in a plan summary; `…_omitted` counts the others. */
export const planListLimit = 2000;
/** Limit of a plan summary as JSON. */
export const planSummaryLimit = 1024 * 1024;
/** Limit of the part without the attributes; lists are shortened to fit. */
export const planListsLimit = 512 * 1024;
/** Limit of all attributes of a plan summary, as JSON, and of the values in that JSON. */
export const planAttributesLimit = planSummaryLimit - planListsLimit;
export const planAttributeValues = 40_000;
/** Limit of the attributes of one resource. */
export const planAttributeCount = 200;
/** Limits of the arrows in a plan summary, and of their JSON, which is in the lists' limit too. */
export const planGraphCount = 5000;
export const planGraphLimit = 128 * 1024;
/** Characters of the value of an attribute; the rest is cut. */
export const planValueLimit = 4096;

/** How many directories of local modules a plan summary lists. */
export const localModulesLimit = 200;

/** How many names of withheld values a claimed job has. */
export const withheldLimit = 200;

/** Limits of the warnings of a job: how many, and how many characters of each. */
export const jobWarningLimits = { count: 20, summary: 300, detail: 600, place: 1024 };

/** Resources that terraform handles at once. */
export const parallelismLimit = 256;
