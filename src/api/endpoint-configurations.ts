import { EndpointConfiguration } from '../resources/index.ts'
import { crud } from './crud.ts'
import { withLogoutUrl, withSamlService } from './sign-in-service.ts'

export const endpointConfigurations = crud(EndpointConfiguration, {
  async prepare(record, context) {
    // A record of an earlier release has no modules.
    return {
      record: {
        ...record,
        oidc: withLogoutUrl(record.oidc ?? null, context),
        saml: await withSamlService(record.saml ?? null, context),
      },
    }
  },
})
