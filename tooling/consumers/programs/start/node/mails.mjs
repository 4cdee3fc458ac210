// A handler. When it throws, its task runs again.
export async function welcome({ to }, { attempt }) {
  if (attempt === 1) throw new Error('the mail server is busy');
  return `mail to ${to}, attempt ${attempt}`;
}
