#include "books/findings_data.h"
const struct finding_paragraph finding_abouts[] = {{"x", "y"}};
const unsigned finding_abouts_n = 1;
