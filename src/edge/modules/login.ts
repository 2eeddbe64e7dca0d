import { Oauth, Oidc, Saml, type Settings } from '../../resources/index.ts'
import { defineModule, type RequestStep } from '../module.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** Where a sign-in stands: whose it is, the route or tunnel that is protected, and who may pass there. */
export type LoginContext = Pick<
  ModuleContext,
  'accountId' | 'scopeId' | 'allowedIdentities' | 'clock' | 'getOrCreate'
>

/** What makes visitors sign in. Declared here, because the modules ask for it; given to the edge when it is made. */
export interface Logins {
  oauth(settings: Settings<typeof Oauth>, place: LoginContext): RequestStep
  oidc(settings: Settings<typeof Oidc>, place: LoginContext): RequestStep
  saml(settings: Settings<typeof Saml>, place: LoginContext): RequestStep
}

function requireLogins({ logins }: ModuleContext): Logins {
  // An edge that cannot ask visitors who they are lets nobody in (P36).
  if (logins === undefined) throw new ModuleConfigError('this edge cannot sign visitors in')
  return logins
}

/** Asks visitors to sign in with an account they have elsewhere. */
export const oauth = defineModule(Oauth, {
  phase: 'request',
  build: (settings: Settings<typeof Oauth>, context: ModuleContext) =>
    requireLogins(context).oauth(settings, context),
})

/** Asks visitors to sign in at an OpenID provider. */
export const oidc = defineModule(Oidc, {
  phase: 'request',
  build: (settings: Settings<typeof Oidc>, context: ModuleContext) =>
    requireLogins(context).oidc(settings, context),
})

/** Asks visitors to sign in at a SAML identity provider. */
export const saml = defineModule(Saml, {
  phase: 'request',
  build: (settings: Settings<typeof Saml>, context: ModuleContext) =>
    requireLogins(context).saml(settings, context),
})
