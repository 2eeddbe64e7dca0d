import { idOf } from './value.ts'

/** The user or bot a credential belongs to; whoever calls, unless an administrator names another. */
export const owner = idOf(['usr', 'bot'])
