import { Oauth, Oidc, Saml, type Settings } from '../../resources/index.ts'
import { defineModule, type RequestStep } from '../module.ts'
import { Broken, type World } from './context.ts'

/** Where a sign-in stands: whose it is, the route or tunnel that is protected, and who may pass there. */
export type LoginPlace = Pick<World, 'accountId' | 'placeId' | 'allowedVisitors' | 'clock' | 'keep'>

/** What makes visitors sign in. Declared here, because the modules ask for it; given to the edge when it is made. */
export interface Logins {
  oauth(settings: Settings<typeof Oauth>, place: LoginPlace): RequestStep
  oidc(settings: Settings<typeof Oidc>, place: LoginPlace): RequestStep
  saml(settings: Settings<typeof Saml>, place: LoginPlace): RequestStep
}

function present({ logins }: World): Logins {
  // An edge that cannot ask visitors who they are lets nobody in (P36).
  if (logins === undefined) throw new Broken('this edge cannot sign visitors in')
  return logins
}

/** Asks visitors to sign in with an account they have elsewhere. */
export const oauth = defineModule(Oauth, {
  phase: 'request',
  build: (settings: Settings<typeof Oauth>, world: World) => present(world).oauth(settings, world),
})

/** Asks visitors to sign in at an OpenID provider. */
export const oidc = defineModule(Oidc, {
  phase: 'request',
  build: (settings: Settings<typeof Oidc>, world: World) => present(world).oidc(settings, world),
})

/** Asks visitors to sign in at a SAML identity provider. */
export const saml = defineModule(Saml, {
  phase: 'request',
  build: (settings: Settings<typeof Saml>, world: World) => present(world).saml(settings, world),
})
