# Three subnets, one per zone, each with its own address range.

variable "name" {
  type = string
}

resource "terraform_data" "subnet" {
  for_each = { a = 1, b = 2, c = 3 }
  input    = "${var.name}-${each.key} 10.0.${each.value}.0/24"
}

output "subnets" {
  value = values(terraform_data.subnet)[*].output
}
