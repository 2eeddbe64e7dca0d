import type { EdgeError } from '../../errors.ts'

/** What a guard tells about a rejection, for `actions.ngrok.….error`; nothing when it admits. */
export function errorResult(error: EdgeError | undefined): { error?: { code: string; message: string } } {
  return error === undefined ? {} : { error: { code: error.code, message: error.text } }
}
