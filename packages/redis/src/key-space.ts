/**
 * Every key of Mortise is `<prefix>:<package>:{<entity>}:<part>`. The entity (one lock, one queue, one chat) is the hash
 * tag. So all its parts live in one Cluster slot, and one script can move them together.
 *
 * Names come from users, so they are encoded: `%`, `{`, `}`, control characters and lone surrogates become `%XX`
 * or `%uXXXX`. All other characters stay, so keys are readable. Without this, an entity such as `}x` would end the
 * tag early: ioredis and Redis then hash the same key to different slots, and NUL or a newline break every tool
 * that prints keys. The encoding is injective, hence distinct names never share a key.
 */
import { ArgumentTypeError } from './argument-error.js';
import { requireName } from './require.js';

const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- the pattern is for control characters
  /[%{}\u0000-\u001f\u007f-\u009f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Encodes a user's string for use inside a key. Different strings get different encodings; `decodeName` is the inverse.
 * O(length).
 */
export function encodeName(name: string): string {
  return name.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `%u${code}` : `%${code.padStart(2, '0')}`;
  });
}

/** The name that `encodeName` encoded. */
export function decodeName(encoded: string): string {
  return encoded.replace(/%u([0-9A-F]{4})|%([0-9A-F]{2})/g, (_, wide: string, narrow: string) =>
    String.fromCharCode(Number.parseInt(wide ?? narrow, 16)),
  );
}

/** The keys of one entity; all of them share one slot. */
export class EntityKeys {
  readonly #stem: string;

  constructor(
    stem: string,
    /** The name as the user gave it. */
    readonly name: string,
  ) {
    this.#stem = stem;
  }

  /**
   * `<prefix>:<package>:{<entity>}:<part>`, followed by `:<encoded detail>` where a part exists many times.
   *
   * @param part A constant such as `lease`. Throws TypeError for a part with a `:`, which would look like a detail.
   * @param detail Any string, also a user's. The caller limits its length.
   */
  key(part: string, detail?: string): string {
    if (part.includes(':'))
      throw new ArgumentTypeError(`a part must not contain ":", got ${JSON.stringify(part)}`);
    return detail === undefined ? this.#stem + part : `${this.#stem}${part}:${encodeName(detail)}`;
  }
}

/** Builds the keys of a package, from a prefix that the user may choose and the name of the package. */
export class KeySpace {
  readonly #stem: string;

  /**
   * @param packageName A constant such as `locks`. Throws TypeError for anything but lower-case letters and `-`.
   * @param prefix Keeps several applications apart in one Redis. Default `mortise`. 1 to 1,024 bytes.
   */
  constructor(packageName: string, prefix = DEFAULT_PREFIX) {
    if (!/^[a-z][a-z-]*$/.test(packageName)) {
      throw new ArgumentTypeError(
        `packageName must be lower-case letters and "-", got ${JSON.stringify(packageName)}`,
      );
    }
    this.#stem = `${encodeName(requireName('prefix', prefix))}:${packageName}:`;
  }

  /**
   * The keys of the entity `name`. Throws TypeError or RangeError for a name that is not a string, empty or too long.
   *
   * @param shard For an entity that is spread over slots. Each shard has its own tag; shard 0 has the plain one. An encoded
   *   name never has two `%` side by side, so the tag of a shard never equals the tag of another name.
   */
  entity(name: string, option = 'name', shard = 0): EntityKeys {
    const tag = encodeName(requireName(option, name)) + (shard === 0 ? '' : `%%${shard}`);
    return new EntityKeys(`${this.#stem}{${tag}}:`, name);
  }
}

/** The prefix of every key unless the user chooses another. */
export const DEFAULT_PREFIX = 'mortise';
