import { call, get, isNotFound } from '../../http.ts';

/** Makes something that is not there: a PUT would change another one of this id without a word. Rejects for one that is there. */
export async function putNew<Answer>(address: string, what: string, body: object): Promise<Answer> {
  const isThere = await get(address).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error as Error)) return false;
      throw error;
    },
  );
  if (isThere) throw new Error(`There is ${what} already: nothing was changed.`);
  return call<Answer>('PUT', address, { body });
}
