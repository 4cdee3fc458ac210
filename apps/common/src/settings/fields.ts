/** Fields of settings. Their refusals never repeat a value: an address may contain a password. */
import { z } from 'zod';

export interface Address {
  readonly host: string;
  readonly port: number;
}

const MAX_PORT = 65_535;

/** A whole number of digits only. */
export function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,16}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

export const port = () => wholeNumber(0, MAX_PORT);

/** A URL with a host, of one of these schemes. */
export function url(...schemes: string[]) {
  const isUrl = (text: string): boolean => {
    const { protocol, hostname } = URL.canParse(text) ? new URL(text) : { protocol: '', hostname: '' };
    return hostname !== '' && schemes.includes(protocol.slice(0, -1));
  };
  return z.string().refine(isUrl, `must be a URL that begins with ${schemes.join(':// or ')}://`);
}

/** `host:port,host:port`, with IPv6 in brackets. */
export function addresses() {
  return z.string().transform((text, context): Address[] => {
    const urls = text.split(',').map((part) => `redis://${part.trim()}`);
    const parsed = urls.map((part) => (URL.canParse(part) ? new URL(part) : undefined));
    return parsed.map((node) => {
      if (node?.hostname && node.port && node.port !== '0' && node.href === `redis://${node.host}`) {
        return { host: node.hostname.replace(/^\[|\]$/g, ''), port: Number(node.port) };
      }
      context.addIssue({ code: 'custom', message: 'must be a list host:port,host:port' });
      return z.NEVER;
    });
  });
}

/** A variable that `parse` reads; its error is the refusal, so it must not repeat the text. */
export function read<Value>(parse: (text: string) => Value) {
  return z.string().transform((text, context) => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });
}
