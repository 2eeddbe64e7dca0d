import { described, idOf, text } from './schema/value.ts'

/** The user or bot that owns a credential; the caller by default, or another one named by an administrator. */
export const owner = described(
  idOf(['usr', 'bot']),
  'The user or bot user that owns it; you by default. Only administrators can choose another owner.',
)

/** The secret of a credential. Only its digest is stored. */
export const token = described(
  text(128),
  'The secret. Returned once, in the response to the creation, and null afterwards.',
)
