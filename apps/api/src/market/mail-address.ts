/**
 * One mail, one recipient. A mail library takes "a string with addresses": a list, a group, a display name, a
 * comment, a quoted local part, and some let a line break through to the wire, where it becomes a second RCPT TO.
 * So this parser accepts a bare addr-spec of the everyday kind only, and returns a type of its own. The API calls it when
 * an address is given, and the worker calls it again when a mail is sent.
 *
 * Accepted: `local@domain`, ASCII, at most 254 bytes (RFC 5321, 4.5.3.1.3, less the angle brackets).
 * - local: 1 to 64 bytes, dot-atom (RFC 5322), without `%` and `!`, by which old relays route to another host.
 * - domain: at most 253 bytes, two or more labels of letters, digits and hyphens; the last one begins with a letter, so
 *   no IP address; an international domain is written in punycode (`xn--…`), and that must be valid.
 * Refused though RFC 5322 allows it: quoted local parts, comments, folding white space, address literals, single-label
 * domains. Addresses beyond ASCII (RFC 6531) are refused because not every relay on the way takes them.
 */
import { domainToASCII } from 'node:url';

import { CodedError } from '@mortise/redis';

declare const checked: unique symbol;

/** A string that `parseMailAddress` has accepted: exactly one address, safe in a command and in a header. */
export type MailAddress = string & { readonly [checked]: true };

/** The text is not exactly one address. The message says what is wrong and doesn't repeat the text. */
export class InvalidMailAddressError extends CodedError {
  readonly code = 'ERR_INVALID_MAIL_ADDRESS';

  constructor(readonly reason: string) {
    super(`not a mail address: ${reason}`);
  }
}

export const MAX_MAIL_ADDRESS_BYTES = 254;
const MAX_LOCAL_BYTES = 64;
const MAX_DOMAIN_BYTES = 253;

const PRINTABLE = /^[\u0021-\u007e]+$/;
const LOCAL = /^[A-Za-z0-9#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]+)*$/;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * The text as an address: the local part as it is, the domain in lower case. Throws ERR_INVALID_MAIL_ADDRESS for everything
 * that is not exactly one address. O(length).
 */
export function parseMailAddress(text: unknown): MailAddress {
  if (typeof text !== 'string') throw new InvalidMailAddressError('no text');
  if (text.length === 0) throw new InvalidMailAddressError('empty');
  if (text.length > MAX_MAIL_ADDRESS_BYTES) {
    throw new InvalidMailAddressError(`more than ${MAX_MAIL_ADDRESS_BYTES} bytes`);
  }
  if (!PRINTABLE.test(text)) {
    throw new InvalidMailAddressError('a control character, a space or a character beyond ASCII');
  }
  const at = text.indexOf('@');
  if (at < 0 || at !== text.lastIndexOf('@')) throw new InvalidMailAddressError('not exactly one "@"');
  const local = text.slice(0, at);
  if (local.length > MAX_LOCAL_BYTES) {
    throw new InvalidMailAddressError(`more than ${MAX_LOCAL_BYTES} bytes before the "@"`);
  }
  if (!LOCAL.test(local)) throw new InvalidMailAddressError('a local part that is no plain dot-atom');
  const domain = text.slice(at + 1);
  if (!isMailDomain(domain)) throw new InvalidMailAddressError('a domain that is no public host name');
  return `${local}@${domain.toLowerCase()}` as MailAddress;
}

/** Whether `parseMailAddress` accepts the text. O(length). */
export function isMailAddress(text: string): boolean {
  try {
    parseMailAddress(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether the text is a domain that may stand in an address: two labels or more, no IP address. O(length). */
export function isMailDomain(text: string): boolean {
  if (text.length > MAX_DOMAIN_BYTES) return false;
  const labels = text.split('.');
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label))) return false;
  // A last label that begins with a digit would make this an IP address; no top-level domain does.
  if (!/^[A-Za-z]/.test(labels.at(-1)!)) return false;
  return domainToASCII(text) === text.toLowerCase();
}
