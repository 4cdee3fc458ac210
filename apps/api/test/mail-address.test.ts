import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';

import { InvalidMailAddressError, isMailDomain, parseMailAddress } from '../src/market/index.js';

const label63 = 'a'.repeat(63);
/** A domain of so many bytes. */
const domain = (bytes: number): string =>
  [label63, label63, label63, 'a'.repeat(bytes - 196), 'com'].join('.');

describe('parseMailAddress', () => {
  test.each([
    'frank@example.com',
    'frank@mortise.localhost',
    'Frank.Oz+market@mail.example.com',
    "o'brien@example.co.uk",
    "#$&'*+/=?^_`{|}~-@example.com",
    '1@2.example',
    'a@b.c1',
    'frank@xn--bcher-kva.example',
    'frank@example.xn--p1ai',
    'frank@a-b--c.example',
    `${'l'.repeat(64)}@example.com`,
    `a@${domain(252)}`,
  ])('accepts %s as it is', (text) => {
    expect(parseMailAddress(text)).toBe(text);
  });

  test('gives the domain in lower case, and keeps the local part', () => {
    expect(parseMailAddress('Frank.Oz@Mail.Example.COM')).toBe('Frank.Oz@mail.example.com');
    expect(parseMailAddress('F@XN--BCHER-KVA.Example')).toBe('F@xn--bcher-kva.example');
  });

  test.each([
    ['nothing', '', 'empty'],
    ['no address', 'frank', 'not exactly one "@"'],
    ['no local part', '@example.com', 'local part'],
    ['no domain', 'frank@', 'domain'],
    ['a line break that adds a command', 'ok@example.com\r\nRCPT TO:<evil@example.com>', 'control character'],
    ['a line feed', 'ok@example.com\nevil@example.com', 'control character'],
    ['a carriage return at the end', 'ok@example.com\r', 'control character'],
    ['a line feed at the end', 'ok@example.com\n', 'control character'],
    ['NUL', 'ok@example.com\0', 'control character'],
    ['DEL', 'ok\u007f@example.com', 'control character'],
    ['a line separator', 'ok@example.com\u2028', 'beyond ASCII'],
    ['a tab', 'ok\t@example.com', 'control character'],
    ['a space before', ' ok@example.com', 'space'],
    ['a space within', 'o k@example.com', 'space'],
    ['a list', 'ok@example.com,evil@example.com', 'not exactly one "@"'],
    ['a list with space', 'ok@example.com, evil@example.com', 'space'],
    ['a list without a second "@"', 'a,b@example.com', 'local part'],
    ['a list by semicolons', 'ok@example.com;evil@example.com', 'not exactly one "@"'],
    ['a group', 'group:ok@example.com,evil@example.com;', 'not exactly one "@"'],
    ['a group of one', 'group:ok@example.com;', 'local part'],
    ['a group in the domain', 'ok@example.com:evil', 'domain'],
    ['a display name', 'Frank <frank@example.com>', 'space'],
    ['angle brackets', '<frank@example.com>', 'local part'],
    ['a bracket after it', 'frank@example.com>', 'domain'],
    ['two brackets', 'frank@example.com><evil', 'domain'],
    ['a comment', 'frank(evil)@example.com', 'local part'],
    ['a comment in the domain', 'frank@example.com(evil)', 'domain'],
    ['a quoted local part', '"frank"@example.com', 'local part'],
    ['a quoted "@"', '"a@b"@example.com', 'not exactly one "@"'],
    ['a backslash', 'fr\\ank@example.com', 'local part'],
    ['a source route', '@relay.example:frank@example.com', 'not exactly one "@"'],
    ['a percent route', 'frank%evil.example@example.com', 'local part'],
    ['a bang path', 'evil.example!frank@example.com', 'local part'],
    ['a dot at the start', '.frank@example.com', 'local part'],
    ['a dot at the end', 'frank.@example.com', 'local part'],
    ['two dots', 'fr..ank@example.com', 'local part'],
    ['an address literal', 'frank@[127.0.0.1]', 'domain'],
    ['an IPv6 literal', 'frank@[IPv6:::1]', 'domain'],
    ['an IP address', 'frank@127.0.0.1', 'domain'],
    ['an IP address in hex', 'frank@0x7f.0x1', 'domain'],
    ['a number for a host', 'frank@a.2130706433', 'domain'],
    ['one label', 'root@localhost', 'domain'],
    ['a dot after the domain', 'frank@example.com.', 'domain'],
    ['an empty label', 'frank@example..com', 'domain'],
    ['a hyphen first in a label', 'frank@-example.com', 'domain'],
    ['a hyphen last in a label', 'frank@example-.com', 'domain'],
    ['an underscore in the domain', 'frank@exa_mple.com', 'domain'],
    ['broken punycode', 'frank@xn--a.example', 'domain'],
    ['an international domain', 'frank@bücher.example', 'beyond ASCII'],
    ['full-width letters', 'frank@ｅxample.com', 'beyond ASCII'],
    ['an international local part', 'fränk@example.com', 'beyond ASCII'],
    ['a lone surrogate', 'frank\ud800@example.com', 'beyond ASCII'],
    ['a long local part', `${'l'.repeat(65)}@example.com`, '64 bytes before'],
    ['a long label', `frank@${'a'.repeat(64)}.com`, 'domain'],
    ['a byte too much', `ab@${domain(252)}`, 'more than 254 bytes'],
    ['a megabyte', `${'a'.repeat(1_000_000)}@example.com`, 'more than 254 bytes'],
  ])('refuses %s', (_, text, reason) => {
    const call = (): unknown => parseMailAddress(text);
    expect(call).toThrow(InvalidMailAddressError);
    expect(call).toThrow(reason);
  });

  test.each([
    [undefined],
    [null],
    [42],
    [['ok@example.com']],
    [{ address: 'ok@example.com' }],
    [new String('a@b.cd')],
  ])('refuses %p, which is no string', (value) => {
    expect(() => parseMailAddress(value)).toThrow('no text');
  });

  test('a refusal has a code and does not repeat the address', () => {
    const error = parseOrCatch('secret.person@localhost');
    expect(error).toMatchObject({ code: 'ERR_INVALID_MAIL_ADDRESS' });
    expect(String(error)).not.toContain('secret');
  });

  test('an accepted address is one token without separators, and the same text', () => {
    const piece = fc.constantFrom(
      'a',
      'Z',
      '9',
      '.',
      '@',
      '-',
      '_',
      ',',
      ';',
      ':',
      '<',
      '>',
      '"',
      '(',
      ')',
      '\\',
      ' ',
    );
    const line = fc.constantFrom(
      '\r',
      '\n',
      '\0',
      '\t',
      'example.com',
      'ok@example.com',
      'xn--',
      'é',
      '\ud83d\ude00',
      '%',
      '!',
    );
    const text = fc.oneof(
      fc.array(fc.oneof(piece, line), { maxLength: 12 }).map((all) => all.join('')),
      fc.string(),
      fc.emailAddress(),
    );
    const token = /^[A-Za-z0-9#$&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{3,253}$/;
    let accepted = 0;
    fc.assert(
      fc.property(text, (candidate) => {
        const address = parseOrCatch(candidate);
        if (address instanceof InvalidMailAddressError) return true;
        accepted += 1;
        return (
          typeof address === 'string' &&
          token.test(address) &&
          Buffer.byteLength(address) <= 254 &&
          address.split('@')[0] === candidate.split('@')[0] &&
          address.toLowerCase() === candidate.toLowerCase()
        );
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  test('every plain address is accepted', () => {
    const atom = fc.stringMatching(/^[A-Za-z0-9_+-]{1,15}$/);
    const hostLabel = fc.stringMatching(/^[a-z0-9]([a-z0-9]{0,10}[a-z0-9])?$/);
    const plain = fc
      .tuple(
        fc.array(atom, { minLength: 1, maxLength: 4 }),
        fc.array(hostLabel, { minLength: 1, maxLength: 5 }),
      )
      .map(([local, host]) => `${local.join('.')}@${host.join('.')}.example`);
    fc.assert(
      fc.property(plain, (text) => parseMailAddress(text) === text),
      { numRuns: 1_000 },
    );
    expect(parseMailAddress('plain@host.example')).toBe('plain@host.example');
  });

  test('an address that makes a careless pattern backtrack is refused at once', () => {
    expect(() => parseMailAddress(`${'a.'.repeat(126)}!`)).toThrow('"@"');
    expect(() => parseMailAddress(`a@${'a-'.repeat(120)}`)).toThrow('domain');
  });
});

describe('isMailDomain', () => {
  test('a domain has at most 253 bytes', () => {
    expect(domain(253)).toHaveLength(253);
    expect(isMailDomain(domain(253))).toBe(true);
    expect(isMailDomain(`a${domain(253)}`)).toBe(false);
  });
});

function parseOrCatch(text: string): unknown {
  try {
    return parseMailAddress(text);
  } catch (error) {
    return error;
  }
}
