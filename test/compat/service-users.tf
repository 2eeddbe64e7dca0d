# Of the older versions of the provider, 0.6 alone has this.
resource "ngrok_service_user" "ci" {
  name   = "service-${replace(var.description, " ", "-")}"
  active = true
}
