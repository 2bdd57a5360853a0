import {
  Connection,
  ConnectionCheck,
  CreateConnection,
  UpdateConnection,
  WebhookSecret,
} from "../../../protocol/connections.ts";
import { at, example, ids } from "./example.ts";

export const connectionExamples = [
  example(Connection, {
    id: ids.connection,
    name: "git.example.com",
    kind: "forgejo",
    base_url: "https://git.example.com",
    account: "windlass-bot",
    status_name: "windlass",
    poll_seconds: 300,
    events_url: `https://windlass.example.com/api/events/${ids.connection}`,
    last_event_at: at(40),
    last_poll_at: at(41),
    error: null,
    created_at: at(2),
    updated_at: at(2),
  }),
  example(CreateConnection, {
    name: "git.example.com",
    kind: "forgejo",
    base_url: "https://git.example.com",
    credential: "5f0c7d1e2b3a4c4d8e5f6a7b8c9d0e1f2a3b4c5d",
  }),
  example(UpdateConnection, {
    credential: "6a7b8c9d0e1f2a3b4c5d5f0c7d1e2b3a4c4d8e5f",
    poll_seconds: 600,
  }),
  example(ConnectionCheck, {
    account: "windlass-bot",
    permissions: [
      {
        name: "write:repository",
        present: false,
        prevents: "statuses on commits, and registering webhooks",
      },
    ],
    warnings: [],
  }),
  example(WebhookSecret, "wlwh_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
];
