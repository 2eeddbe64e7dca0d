import { EndpointConfiguration } from '../../../resources/index.ts'
import { crud } from '../../crud/crud.ts'
import { withSamlService } from './saml-service.ts'

export const endpointConfigurations = crud(EndpointConfiguration, {
  async prepare(record, context) {
    // A record of an earlier release has no modules.
    return { record: { ...record, saml: await withSamlService(record.saml ?? null, context) } }
  },
})
