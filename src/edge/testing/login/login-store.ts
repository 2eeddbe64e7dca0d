import type { LoginStore } from '../../login/index.ts'

/** A login store of a single node that forgets everything. */
export const forgetfulLoginStore: LoginStore = {
  consume: async () => true,
  revoke: async () => undefined,
  recordSession() {},
  recordActivity() {},
}
