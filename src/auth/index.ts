export { type Acl, compileAcl } from './acl.ts'
export { createAccount, firstAccount, type NewAccount } from './accounts.ts'
export { type Auth, createAuth, type Principal, type Role, type TunnelPrincipal } from './auth.ts'
export { isTokenShaped, mintToken, tokenDigest } from './token.ts'
