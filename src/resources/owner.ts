import { idOf } from './value.ts'

/** The user or bot that owns a credential; the caller by default, or another one named by an administrator. */
export const owner = idOf(['usr', 'bot'])
