import type { JSX, TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';

import { signIn } from './session.ts';
import { Trouble } from './ui/elements.tsx';

export function SignIn(): JSX.Element {
  const [error, setError] = useState<Error>();
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get('key') as string;
    setIsBusy(true);
    setError(undefined);
    await signIn(key).catch((reason: unknown) => setError(reason as Error));
    setIsBusy(false);
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Sign in to Mortise</h1>
        <p class="muted">
          The console shows what your API key may read. <code>npm start</code> prints a key, and a link that
          signs in.
        </p>
        <label class="field">
          <span>API key</span>
          <input name="key" type="password" autocomplete="current-password" required placeholder="mk_…" />
        </label>
        {error && <Trouble error={error} />}
        <button class="primary" type="submit" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
