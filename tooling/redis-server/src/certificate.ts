import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@mortise/server-process';

export interface Certificate {
  /** Arguments of a server that uses the certificate on `port`. */
  readonly tlsArgs: string[];
  readonly port: number;
  readonly caFile: string;
  readonly keyFile: string;
  readonly remove: () => void;
}

/** A certificate for 127.0.0.1 that is its own authority, made by openssl. */
export async function makeCertificate(): Promise<Certificate> {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-tls-'));
  const [keyFile, caFile] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  await promisify(execFile)('openssl', ['req', '-x509', '-days', '2', ...key, '-out', caFile, ...name]);
  const port = await freePort(false);
  const files = ['--tls-cert-file', caFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
  return {
    tlsArgs: ['--tls-port', String(port), ...files, '--tls-auth-clients', 'no'],
    caFile,
    keyFile,
    port,
    remove: () => rmSync(directory, { recursive: true }),
  };
}
