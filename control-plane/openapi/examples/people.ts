import {
  AccessToken,
  CreateAccessToken,
  CreatedAccessToken,
} from "../../../protocol/access-tokens.ts";
import { AuditEntry } from "../../../protocol/audit.ts";
import {
  DeviceLogin,
  ExchangeDeviceLogin,
  ExchangedTokens,
  GenerateDeviceLogin,
  RefreshTokens,
  TokenPair,
} from "../../../protocol/auth.ts";
import { Login } from "../../../protocol/logins.ts";
import {
  PublishRelease,
  RegisterCloudWorker,
  Release,
  SemanticVersion,
} from "../../../protocol/releases.ts";
import { Repository } from "../../../protocol/repositories.ts";
import { Role, ZoneRoles } from "../../../protocol/roles.ts";
import {
  CreatedInvitation,
  CreateInvitation,
  CreateTeam,
  Invitation,
  Member,
  Team,
  TeamSlug,
  UpdateMember,
  UpdateTeam,
} from "../../../protocol/teams.ts";
import { at, example, ids } from "./example.ts";

const code = { device_code: ids.deviceCode, verification_code: "K7QW3M" };
const pair = {
  access_token: "eyJhbGciOiJIUzI1NiJ9.eyJ0eXBlIjoiYWNjZXNzIn0.example",
  refresh_token: "eyJhbGciOiJIUzI1NiJ9.eyJ0eXBlIjoicmVmcmVzaCJ9.example",
  token_type: "Bearer" as const,
  expires_in: 3600,
};
const accessToken = {
  id: ids.login,
  name: "github-actions",
  prefix: "wlt_Zm9y",
  role: "deployer" as const,
  zones: {},
  configurations: null,
  created_by: "ada@example.com",
  created_at: at(0),
  expires_at: at(90 * 24 * 3600),
  last_used_at: at(3600),
  last_used_from: "203.0.113.7",
};
const team = { slug: "platform", name: "Platform" };
const invitation = {
  id: ids.invitation,
  role: "deployer" as const,
  zones: {},
  email: "grace@example.com",
  expires_at: at(7 * 24 * 3600),
  created_by: "ada@example.com",
};
const release = { version: "1.4.0", release_notes: "Plans are summed up before they are applied." };

export const peopleExamples = [
  example(ZoneRoles, {}),
  example(GenerateDeviceLogin, { device_code: ids.deviceCode }),
  example(DeviceLogin, { ...code, expires_at: at(600) }),
  example(ExchangeDeviceLogin, code),
  example(ExchangedTokens, { ...pair, provider_token: null, user_email: "ada@example.com" }),
  example(RefreshTokens, { refresh_token: pair.refresh_token }),
  example(TokenPair, pair),
  example(Login, {
    id: ids.login,
    kind: "cli",
    current: true,
    created_at: at(0),
    expires_at: at(90 * 24 * 3600),
  }),
  example(Role, accessToken.role),
  example(CreateAccessToken, { name: accessToken.name, role: "deployer", expires_in_days: 90 }),
  example(AccessToken, accessToken),
  example(CreatedAccessToken, {
    ...accessToken,
    access_token: "wlt_Zm9yIHRoZSBkb2N1bWVudCBvbmx5LCBub3QgYSB0b2tlbg",
    last_used_at: null,
    last_used_from: null,
  }),
  example(TeamSlug, team.slug),
  example(Team, { ...team, role: "admin", zones: {}, created_at: at(0) }),
  example(CreateTeam, team),
  example(UpdateTeam, { name: "Platform" }),
  example(Member, {
    user_id: ids.user,
    email: "ada@example.com",
    role: "viewer",
    zones: { [ids.zone]: "deployer" },
    joined_at: at(0),
  }),
  example(UpdateMember, { role: "viewer", zones: { [ids.zone]: "deployer" } }),
  example(CreateInvitation, { role: "deployer", email: "grace@example.com" }),
  example(Invitation, invitation),
  example(CreatedInvitation, {
    ...invitation,
    link: "https://windlass.example.com/invitations/wli_Zm9yIHRoZSBkb2N1bWVudCBvbmx5",
  }),
  example(AuditEntry, {
    id: ids.login,
    created_at: at(0),
    action: "zone.update",
    actor: { kind: "cli_login", id: ids.login, name: "ada@example.com" },
    target: { kind: "zone", id: ids.zone, name: "production" },
    details: { fields: ["name"] },
    ip_address: "203.0.113.7",
    user_agent: "windlass/1.4.0",
    request_id: "a1b2c3d4e5f6-1",
  }),
  example(SemanticVersion, release.version),
  example(PublishRelease, release),
  example(Release, { ...release, created_at: at(0) }),
  example(RegisterCloudWorker, {
    name: "cloud-eu-1",
    metadata: { deploy_configuration: { configuration_id: ids.configuration } },
  }),
  example(Repository, {
    id: "481516",
    full_name: "platform/cluster",
    clone_url: "https://git.example.com/platform/cluster.git",
    default_branch: "main",
    private: true,
  }),
];
