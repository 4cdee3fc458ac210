/**
 * Encodes JSON before it is stored, and decodes it when it is read: compression, encryption, or both.
 *
 * An encoded value is itself JSON, `{"$codec":"br,aes","data":"<base64>"}`. So plain and encoded values stand side by side, a
 * program without codecs can still read, move and show them, and they travel over HTTP as they are. The price is base64, four bytes
 * for three. Rejected: bytes in place of JSON, which consoles, other languages and older releases could not read.
 */
import { ArgumentTypeError } from './argument-error.js';
import { CodedError } from './coded-error.js';
import { describeError } from './describe-error.js';
import { requireArray, requireFunction, requireObject } from './require.js';
import { shownValue } from './shown-value.js';

/** One step of an encoding. Both functions are synchronous, so load keys before. */
export interface PayloadCodec {
  /** The name, which is stored with each value: 1 to 32 characters of a-z, 0-9 and `-`. A new format needs a new name. */
  readonly name: string;
  /**
   * Encodes bytes. Returns undefined to leave the bytes as they are, for example because they are few. Equal bytes must always
   * get equal encodings: scripts compare stored payloads to tell a repeated call from a conflict.
   */
  encode(bytes: Buffer): Buffer | undefined;
  /** Decodes bytes. Throws for bytes that it cannot decode. */
  decode(bytes: Buffer): Buffer;
}

/** An encoded value as Redis stores it, and as a program without the codec reads it. */
export interface EncodedValue {
  /** The names of the codecs, in the order of `encode`. */
  readonly $codec: string;
  /** Base64. */
  readonly data: string;
}

const MARK = '{"$codec":';
const MAX_CODECS = 8;
const NAME = /^[a-z0-9-]{1,32}$/;

/** Whether a value that was read is still encoded, because this program doesn't have its codec. O(1). */
export function isEncoded(value: unknown): value is EncodedValue {
  if (typeof value !== 'object' || value === null) return false;
  const { $codec, data, ...others } = value as Partial<EncodedValue>;
  return typeof $codec === 'string' && typeof data === 'string' && Object.keys(others).length === 0;
}

/**
 * A stored value can't be decoded. This program doesn't have the codec or key, or the value was changed. `cause` is the error
 * of the codec.
 *
 * @remedy Give the same `codecs`, with the old keys too, to all programs that read the value.
 */
export class PayloadEncodedError extends CodedError {
  static override readonly className: string = 'PayloadEncodedError';
  readonly code = 'ERR_PAYLOAD_ENCODED';

  constructor(
    /** The names of its codecs. */
    readonly codec: string,
    override readonly cause?: unknown,
  ) {
    const why = cause === undefined ? 'there is no such codec here' : describeError(cause).split('\n', 1)[0];
    super(
      `a value that is encoded by ${JSON.stringify(codec)} can't be decoded: ${why}`,
      undefined,
      'ERR_PAYLOAD_ENCODED',
    );
  }
}

/** The codecs of one instance, in the order of their use. */
export class Codecs {
  readonly #all: readonly PayloadCodec[];
  readonly #byName: ReadonlyMap<string, PayloadCodec>;

  private constructor(all: readonly PayloadCodec[]) {
    this.#all = all;
    this.#byName = new Map(all.map((codec) => [codec.name, codec]));
  }

  /** Throws TypeError for values that are not codecs, or for two of one name. */
  static of(given: readonly PayloadCodec[] | undefined): Codecs | undefined {
    if (given === undefined) return undefined;
    requireArray('codecs', given, { min: 1, max: MAX_CODECS });
    for (const codec of given) {
      const { name } = requireObject('codec', codec);
      if (typeof name !== 'string' || !NAME.test(name)) {
        throw new ArgumentTypeError(`a codec needs a name of a-z, 0-9 and -, got ${shownValue(name)}`);
      }
      for (const part of ['encode', 'decode'] as const) requireFunction(`codec.${part}`, codec[part]);
    }
    const codecs = new Codecs([...given]);
    if (codecs.#byName.size < given.length) throw new ArgumentTypeError('codecs must have different names');
    return codecs;
  }

  /** The JSON to store for a JSON text. O(bytes). */
  encode(json: string): string {
    const names: string[] = [];
    let bytes = Buffer.from(json);
    for (const codec of this.#all) {
      const encoded = codec.encode(bytes);
      if (encoded === undefined) continue;
      names.push(codec.name);
      bytes = encoded as Buffer<ArrayBuffer>;
    }
    return names.length === 0 ? json : `${MARK}"${names.join(',')}","data":"${bytes.toString('base64')}"}`;
  }

  /** The JSON text that was encoded. Throws ERR_PAYLOAD_ENCODED. O(bytes). */
  decode({ $codec, data }: EncodedValue): string {
    let bytes: Buffer = Buffer.from(data, 'base64');
    for (const name of $codec.split(',').toReversed()) {
      const codec = this.#byName.get(name);
      if (!codec) throw new PayloadEncodedError($codec);
      try {
        bytes = codec.decode(bytes);
      } catch (error) {
        throw new PayloadEncodedError($codec, error);
      }
    }
    return bytes.toString();
  }
}

/** Whether a JSON text would be read as an encoded value, so it can't be the payload of a producer with codecs. */
export function looksEncoded(json: string): boolean {
  return json.startsWith(MARK);
}

/**
 * Returns the value of a stored JSON text. A value that can't be decoded is returned as it is stored; `isEncoded` detects it.
 *
 * @param parse Reads a JSON text.
 */
export function readJson(
  json: string,
  codecs: Codecs | undefined,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  const value: unknown = parse(json);
  if (!codecs || !looksEncoded(json) || !isEncoded(value)) return value;
  try {
    return parse(codecs.decode(value));
  } catch {
    return value;
  }
}

/** Returns the JSON text that `encode` got, from the stored text. Throws ERR_PAYLOAD_ENCODED. */
export function decodedJson(json: string, codecs: Codecs | undefined): string {
  if (!looksEncoded(json)) return json;
  const value: unknown = JSON.parse(json);
  if (!isEncoded(value)) return json;
  if (!codecs) throw new PayloadEncodedError(value.$codec);
  return codecs.decode(value);
}
