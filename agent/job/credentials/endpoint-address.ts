/** The address from which terraform reads its credentials: a port of the job on loopback. */
export const loopback = "127.0.0.1";
export const credentialsPath = "/credentials";
export const tokenPath = "/token";

/** The address and its password, which terraform and the next agent need. */
export interface EndpointAddress {
  readonly port: number;
  readonly token: string;
}

/** How AWS SDKs find the endpoint. The token opens only it, only here, only during the job. */
export const endpointEnvironment = ({ port, token }: EndpointAddress): Record<string, string> => ({
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${loopback}:${port}${credentialsPath}`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
});

/** Where the job's own token is, for what exchanges it itself. */
export const tokenUrl = ({ port }: EndpointAddress): string =>
  `http://${loopback}:${port}${tokenPath}`;
