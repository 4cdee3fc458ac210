/** The servers of `npm run test:protected`, as the variable MORTISE_PROTECTED describes them to the tests. */
export interface ProtectedServers {
  /** The masters of a Cluster, or the one that the sentinels watch. */
  readonly masters: readonly { readonly host: string; readonly port: number }[];
  /** The authority of its certificate is in NODE_EXTRA_CA_CERTS. */
  readonly isTls: boolean;
  /** Has the rights of docs/operations/redis.md. */
  readonly user: { readonly username: string; readonly password: string };
  /** Of the user `default`, which has all rights. */
  readonly adminPassword: string;
  /** Absent for a Cluster. */
  readonly sentinel?: {
    readonly name: string;
    readonly sentinels: readonly { readonly host: string; readonly port: number }[];
    readonly sentinelPassword: string;
  };
}

const { MORTISE_PROTECTED: given } = process.env;

/** Undefined in other runs. */
export const protectedServers = given === undefined ? undefined : (JSON.parse(given) as ProtectedServers);

/** Whether a client is one of the protected servers. */
export function isProtected(client: object): boolean {
  return PROTECTED in client;
}

// By its name: a test may load this module twice.
export const PROTECTED = Symbol.for('mortise.test-kit.protected');
