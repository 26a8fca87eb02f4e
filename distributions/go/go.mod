module stepdown

go 1.21
